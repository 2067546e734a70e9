# The component of ipc-teardown in its variants. One program each, which is client and server.
IPC_DIR := scenarios/ipc-teardown
IPC_OUT := $(BUILD)/scenarios/ipc-teardown
IPC_SRC := $(wildcard $(IPC_DIR)/component/*.c)
IPC_HDR := $(wildcard $(IPC_DIR)/component/*.h)

# What a variant's fix does (component/context.h), by the first part of its name.
IPC_FIX_faulty :=
IPC_FIX_fixed  := SWAP_UNDER_LOCK LOOK_UP_BY_KEY RECHECK_ON_LOOP DESTROY_AFTER_RELEASE
IPC_FIX_half   := FLAG_DECIDES
IPC_FIX_under  := SWAP_UNDER_LOCK LOOK_UP_BY_KEY RECHECK_ON_LOOP
# How it is built, by the last part.
IPC_HOW_asan     := -fsanitize=address
IPC_HOW_tsan     := -fsanitize=thread
IPC_HOW_rdynamic := -rdynamic
IPC_HOW_optimised := -O2 -foptimize-sibling-calls
IPC_HOW_stripped := -s

IPC_VARIANTS := faulty fixed half-fixed under-lock $(foreach h,asan tsan stripped shared rdynamic optimised,faulty-$(h) fixed-$(h)) \
                half-fixed-asan under-lock-asan
IPC_CFLAGS    = -std=c17 -D_GNU_SOURCE $(WARN) -O1 -g -fno-omit-frame-pointer -fno-optimize-sibling-calls -pthread \
                $(addsuffix =1,$(addprefix -D,$(IPC_FIX_$(firstword $(subst -, ,$(1)))))) $(IPC_HOW_$(lastword $(subst -, ,$(1))))

IPC_LIBRARY := -fPIC -shared -Wl,-soname,libipc.so
IPC_BESIDE   = -L$(IPC_OUT)/$(1) -lipc '-Wl,-rpath,$$$$ORIGIN'

define IPC_RULES
$(IPC_OUT)/$(1)/ipc-teardown: $(IPC_DIR)/workload/ipc-teardown.c $(IPC_SRC) $(IPC_HDR)
	@mkdir -p $$(@D)
	$$(CC) $(call IPC_CFLAGS,$(1)) -o $$@ $$< $(IPC_SRC)
endef
define IPC_SHARED_RULES
$(IPC_OUT)/$(1)/libipc.so: $(IPC_SRC) $(IPC_HDR)
	@mkdir -p $$(@D)
	$$(CC) $(call IPC_CFLAGS,$(1)) $(IPC_LIBRARY) -o $$@ $(IPC_SRC)
$(IPC_OUT)/$(1)/ipc-teardown: $(IPC_DIR)/workload/ipc-teardown.c $(IPC_OUT)/$(1)/libipc.so
	$$(CC) $(call IPC_CFLAGS,$(1)) -o $$@ $$< $(call IPC_BESIDE,$(1))
endef
$(foreach v,$(filter-out %-shared,$(IPC_VARIANTS)),$(eval $(call IPC_RULES,$(v))))
$(foreach v,$(filter %-shared,$(IPC_VARIANTS)),$(eval $(call IPC_SHARED_RULES,$(v))))

WORKLOADS += $(foreach v,$(IPC_VARIANTS),$(IPC_OUT)/$(v)/ipc-teardown)

include $(IPC_DIR)/libmultiprocess/build.mk
