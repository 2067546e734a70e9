# The workload on libmultiprocess itself: variant `installed`, where pkg-config knows the library.
# MP_PREFIX=DIR names an installation of your own; the library is static, so each is built with the flags that it was.
MP_DIR := scenarios/ipc-teardown/libmultiprocess
MP_OUT := $(BUILD)/scenarios/ipc-teardown/installed
MP_PKG := $(if $(MP_PREFIX),PKG_CONFIG_PATH=$(MP_PREFIX)/lib/pkgconfig )pkg-config
MP_PLACE := $(shell $(MP_PKG) --variable=prefix libmultiprocess 2>/dev/null)
MP_CXXFLAGS ?= -O1 -g

ifneq ($(and $(MP_PLACE),$(wildcard $(MP_PLACE)/bin/mpgen)),)
WORKLOADS += $(MP_OUT)/ipc-teardown
endif

$(MP_OUT)/ipc-teardown: $(MP_DIR)/ipc-teardown.cpp $(MP_DIR)/teardown.capnp $(MP_DIR)/teardown.h $(MP_DIR)/teardown-types.h
	@test -n "$(MP_PLACE)" || { echo "libmultiprocess is not known to pkg-config: set MP_PREFIX to where it is installed"; exit 1; }
	@mkdir -p $(@D)
	cp $(MP_DIR)/teardown.capnp $(MP_DIR)/*.h $(@D)/
	cd $(@D) && $(MP_PLACE)/bin/mpgen . . teardown.capnp $(MP_PLACE)/include
	$(CXX) -std=c++20 $(MP_CXXFLAGS) -fno-omit-frame-pointer -I$(@D) $$($(MP_PKG) --cflags libmultiprocess) \
	  -o $@ $< $(@D)/*.c++ $$($(MP_PKG) --libs libmultiprocess)
