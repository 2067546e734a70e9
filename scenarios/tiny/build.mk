# The tiny programs, in four variants: faulty, fixed, and each under ASan. A variant is a folder.
TINY_DIR      := scenarios/tiny/component
TINY_OUT      := $(BUILD)/scenarios/tiny
TINY_LIB_SRC  := $(addprefix $(TINY_DIR)/,object.c session.c event.c settings.c work.c)
TINY_PROGRAMS := use-after-free double-free lost-wakeup order-violation
TINY_VARIANTS := faulty fixed faulty-asan fixed-asan
# Plain, unoptimised enough for frames to have names; the bugs do not depend on it.
TINY_CFLAGS    = -std=c17 -D_GNU_SOURCE $(WARN) -O1 -g -fno-omit-frame-pointer -fno-optimize-sibling-calls \
                 $(if $(findstring fixed,$(1)),-DFIXED) $(if $(findstring asan,$(1)),-fsanitize=address)

define TINY_RULES
$(TINY_OUT)/$(1)/libtiny.so: $(TINY_LIB_SRC) $(TINY_DIR)/tiny.h
	@mkdir -p $$(@D)
	$$(CC) $(call TINY_CFLAGS,$(1)) -fPIC -shared -Wl,-soname,libtiny.so -o $$@ $(TINY_LIB_SRC)
$(TINY_OUT)/$(1)/%: $(TINY_DIR)/%.c $(TINY_OUT)/$(1)/libtiny.so
	$$(CC) $(call TINY_CFLAGS,$(1)) -pthread -o $$@ $$< -L$$(@D) -ltiny '-Wl,-rpath,$$$$ORIGIN'
endef
$(foreach v,$(TINY_VARIANTS),$(eval $(call TINY_RULES,$(v))))

WORKLOADS += $(foreach v,$(TINY_VARIANTS),$(addprefix $(TINY_OUT)/$(v)/,$(TINY_PROGRAMS)))
