# The workloads of ompi-modex-fence, where mpicc (or MPICC) is installed; `session` and `sessions` where it has MPI_Session_init.
OMPI_OUT := $(BUILD)/scenarios/ompi-modex-fence
MPICC    ?= mpicc
ifneq ($(shell command -v $(MPICC) 2>/dev/null),)
WORKLOADS += $(OMPI_OUT)/workload/init $(OMPI_OUT)/workload/world
ifeq ($(shell echo 'MPI_Session s;' | $(MPICC) -include mpi.h -x c -fsyntax-only - 2>/dev/null && echo yes),yes)
WORKLOADS += $(OMPI_OUT)/workload/session $(OMPI_OUT)/workload/sessions
endif
endif
$(OMPI_OUT)/workload/%: scenarios/ompi-modex-fence/workload/%.c $(wildcard scenarios/ompi-modex-fence/workload/*.h)
	@mkdir -p $(@D)
	OMPI_CC=$(CC) $(MPICC) -std=c17 -D_GNU_SOURCE $(WARN) -O1 -g -o $@ $<

# The client component and its program, in variants, where libpmix is installed.
CLIENT_DIR      := scenarios/ompi-modex-fence
CLIENT_VARIANTS := $(foreach v,faulty fixed half-fixed drain static,$(v) $(v)-asan) fixed-tsan
CLIENT_IS_faulty := -DFLAG_ON_STACK
CLIENT_IS_half   := -DCALLBACK_KEEPS
CLIENT_IS_drain  := -DFLAG_ON_STACK -DDRAINS
CLIENT_IS_static := -DFLAG_IS_STATIC
CLIENT_HOW_asan  := -fsanitize=address
CLIENT_HOW_tsan  := -fsanitize=thread
CLIENT_PMIX      := $(shell pkg-config --cflags --libs pmix 2>/dev/null)
CLIENT_CFLAGS     = -std=c17 -D_GNU_SOURCE $(WARN) -O1 -g -fno-omit-frame-pointer -fno-optimize-sibling-calls -pthread \
                    $(CLIENT_IS_$(firstword $(subst -, ,$(1)))) $(CLIENT_HOW_$(lastword $(subst -, ,$(1))))
CLIENT_LIBRARY   := -fPIC -shared -Wl,-soname,libclient.so
CLIENT_BESIDE     = -L$(OMPI_OUT)/$(1) -lclient '-Wl,-rpath,$$$$ORIGIN'

define CLIENT_RULES
$(OMPI_OUT)/$(1)/libclient.so: $(CLIENT_DIR)/component/client.c $(CLIENT_DIR)/component/client.h
	@mkdir -p $$(@D)
	$$(CC) $(call CLIENT_CFLAGS,$(1)) $(CLIENT_LIBRARY) -o $$@ $$< $(CLIENT_PMIX)
$(OMPI_OUT)/$(1)/client: $(CLIENT_DIR)/workload/client.c $(CLIENT_DIR)/workload/stay.h $(OMPI_OUT)/$(1)/libclient.so
	$$(CC) $(call CLIENT_CFLAGS,$(1)) -o $$@ $$< $(call CLIENT_BESIDE,$(1))
endef
$(foreach v,$(CLIENT_VARIANTS),$(eval $(call CLIENT_RULES,$(v))))
ifneq ($(CLIENT_PMIX),)
WORKLOADS += $(foreach v,$(CLIENT_VARIANTS),$(OMPI_OUT)/$(v)/client)
endif
