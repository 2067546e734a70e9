# The workload of ompi-modex-fence, where mpicc is installed.
OMPI_OUT := $(BUILD)/scenarios/ompi-modex-fence
ifneq ($(shell command -v mpicc 2>/dev/null),)
WORKLOADS += $(OMPI_OUT)/workload/init
endif
$(OMPI_OUT)/workload/%: scenarios/ompi-modex-fence/workload/%.c
	@mkdir -p $(@D)
	OMPI_CC=$(CC) mpicc -std=c17 -D_GNU_SOURCE $(WARN) -O1 -g -o $@ $<
