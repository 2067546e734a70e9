# holdpoint: `make` builds everything into $(BUILD); `make unit` builds and runs the unit tests.
#   CC=clang            another compiler            SAN=address|undefined|thread   our own code under a sanitizer
#   BUILD=DIR           where the results go        make install PREFIX=/usr/local DESTDIR=
BUILD  ?= build
PREFIX ?= /usr/local
SAN    ?=
CC     ?= cc

CFLAGS   ?= -O2 -g
WARN      = -Wall -Wextra -Werror -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wformat=2
override CPPFLAGS += -D_GNU_SOURCE -Iharness -Ishims -Iharness/board
override CFLAGS   += -std=c17 $(WARN) -fno-omit-frame-pointer
SANFLAGS  = $(if $(SAN),-fsanitize=$(SAN) -fno-sanitize-recover=all)
HOSTLIBS := $(shell pkg-config --libs libyaml jansson libdw libelf 2>/dev/null || echo -lyaml -ljansson -ldw -lelf) -lhs -lm

ARCH := $(shell uname -m)
ifneq ($(ARCH),x86_64)
$(error holdpoint runs on x86_64 only; this is $(ARCH))
endif

BOARD_SRC   := $(wildcard harness/board/*.c)
RANK_SRC    := $(filter-out %_test.c,$(wildcard harness/rank/*.c)) harness/program.c
HARNESS_SRC := $(filter-out %_test.c,$(wildcard harness/*.c))
SHIM_SRC    := $(filter-out %_test.c,$(wildcard shims/*.c)) $(wildcard shims/arch/$(ARCH)/*.c)
SHIM_ASM    := $(wildcard shims/arch/$(ARCH)/*.S)
UNIT_SRC    := $(wildcard harness/*_test.c shims/*_test.c harness/board/*_test.c harness/rank/*_test.c)
BOARD_SRC   := $(filter-out %_test.c,$(BOARD_SRC))

obj = $(patsubst %,$(BUILD)/obj/$(1)/%.o,$(2))
HARNESS_OBJ := $(call obj,host,$(HARNESS_SRC) $(BOARD_SRC))
RANK_OBJ    := $(call obj,host,$(RANK_SRC) $(BOARD_SRC))
SHIM_OBJ    := $(call obj,pic,$(SHIM_SRC) $(SHIM_ASM) $(BOARD_SRC))
UNIT_BIN    := $(patsubst %.c,$(BUILD)/unit/%,$(UNIT_SRC))

all: $(BUILD)/holdpoint $(BUILD)/holdpoint-rank $(BUILD)/libholdpoint.so workloads

$(BUILD)/holdpoint: $(HARNESS_OBJ)
	$(CC) $(CFLAGS) $(SANFLAGS) $(LDFLAGS) -o $@ $^ $(HOSTLIBS)

# libc alone: it starts once a rank, also where nothing else of holdpoint is installed.
$(BUILD)/holdpoint-rank: $(RANK_OBJ)
	$(CC) $(CFLAGS) $(SANFLAGS) $(LDFLAGS) -o $@ $^

# Its constructor runs before every other one (initfirst); the unwinder is linked in, so that libc is all it needs.
# -z nodelete: hooks stay mapped while threads are inside them. -z now: the shim's own calls never bind late.
$(BUILD)/libholdpoint.so: $(SHIM_OBJ) shims/exports.map
	$(CC) $(CFLAGS) $(SANFLAGS) $(LDFLAGS) -shared -static-libgcc -Wl,--version-script=shims/exports.map,--exclude-libs=ALL \
	  -Wl,-z,now,-z,relro,-z,initfirst,-z,nodelete,-z,defs -Wl,-soname,libholdpoint.so -o $@ $(SHIM_OBJ)

$(BUILD)/obj/host/%.c.o: %.c
	@mkdir -p $(@D)
	$(CC) $(CPPFLAGS) $(CFLAGS) $(SANFLAGS) -MMD -MP -c -o $@ $<

# initial-exec: a thread's state costs one fixed-offset load and never allocates. Unwind tables but no -fexceptions:
# a personality routine of our own copy of the unwinder must never meet the program's.
PICFLAGS = -fPIC -fvisibility=hidden -ftls-model=initial-exec -fasynchronous-unwind-tables -fno-plt -fno-sanitize=all
$(BUILD)/obj/pic/shims/idle.c.o: PICFLAGS += -mgeneral-regs-only
$(BUILD)/obj/pic/%.c.o: %.c
	@mkdir -p $(@D)
	$(CC) $(CPPFLAGS) $(CFLAGS) $(PICFLAGS) -MMD -MP -c -o $@ $<
$(BUILD)/obj/pic/%.S.o: %.S
	@mkdir -p $(@D)
	$(CC) $(CPPFLAGS) $(CFLAGS) -MMD -MP -c -o $@ $<

# A unit test stands beside its code as NAME_test.c and is linked with everything but main.
$(BUILD)/unit/harness/%_test: $(BUILD)/obj/host/harness/%_test.c.o $(filter-out %/main.c.o,$(HARNESS_OBJ))
	@mkdir -p $(@D)
	$(CC) $(CFLAGS) $(SANFLAGS) $(LDFLAGS) -o $@ $^ $(HOSTLIBS)
# What a unit test of holdpoint-rank can reach is what holdpoint-rank can.
$(BUILD)/unit/harness/rank/%_test: $(BUILD)/obj/host/harness/rank/%_test.c.o $(filter-out %/main.c.o,$(RANK_OBJ))
	@mkdir -p $(@D)
	$(CC) $(CFLAGS) $(SANFLAGS) $(LDFLAGS) -o $@ $^
$(BUILD)/unit/shims/%_test: $(BUILD)/obj/host/shims/%_test.c.o $(BUILD)/obj/host/shims/%.c.o $(call obj,host,$(BOARD_SRC))
	@mkdir -p $(@D)
	$(CC) $(CFLAGS) $(SANFLAGS) $(LDFLAGS) -o $@ $^

unit: $(UNIT_BIN) $(BUILD)/holdpoint-rank
	@set -e; for t in $(UNIT_BIN); do echo "unit $${t#$(BUILD)/unit/}"; $$t; done

# Workloads and components of the scenarios: each scenario folder has its own rules.
WORKLOAD_MK := $(wildcard scenarios/*/build.mk)
include $(WORKLOAD_MK)
workloads: $(WORKLOADS)

install: all
	install -d $(DESTDIR)$(PREFIX)/bin $(DESTDIR)$(PREFIX)/lib/holdpoint $(DESTDIR)$(PREFIX)/share/holdpoint
	install -m 755 $(BUILD)/holdpoint $(DESTDIR)$(PREFIX)/bin/
	install -m 755 $(BUILD)/holdpoint-rank $(BUILD)/libholdpoint.so $(DESTDIR)$(PREFIX)/lib/holdpoint/
	cp -r scenarios reports $(DESTDIR)$(PREFIX)/share/holdpoint/

format:
	clang-format -i $$(git ls-files '*.c' '*.h')

clean:
	rm -rf $(BUILD)

.PHONY: all unit install format clean workloads
.SECONDARY:
-include $(shell find $(BUILD)/obj -name '*.d' 2>/dev/null)
