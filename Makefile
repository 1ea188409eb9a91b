# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# What is built for the kernel is said in Kbuild; this file is for people. See
# `make help`.

KDIR ?= /lib/modules/$(KVER)/build
KVER ?= $(shell uname -r)
DESTDIR ?=

# Builds outside the checkout go here; sudo keeps to its caller's folder. Not everybody has
# one that there is, or an entry at all.
PASSWD_HOME := $(shell getent passwd "$${SUDO_UID:-$$(id -u)}" | cut -d: -f6)
USER_HOME := $(if $(and $(PASSWD_HOME),$(wildcard $(PASSWD_HOME)/.)),$(PASSWD_HOME),$(HOME))
O ?= $(or $(XDG_CACHE_HOME),$(USER_HOME)/.cache)/rove/host-$(shell echo '$(CURDIR)' | cksum | cut -d' ' -f1)

VERSION := $(shell sed -n 's/^PACKAGE_VERSION="\(.*\)"/\1/p' dkms.conf)
DKMS := $(shell command -v dkms)

# Where the installed libibverbs looks for providers.
LIBDIR ?= /usr/lib/$(shell $(CC) -print-multiarch)
VERBS_PROVIDER_DIR ?= $(LIBDIR)/libibverbs
VERBS_CONFIG_DIR ?= /etc/libibverbs.d
UDEV_RULES_DIR ?= /usr/lib/udev/rules.d
MANDIR ?= /usr/share/man
SBINDIR ?= /usr/sbin

MAN4 := Documentation/man/rove.4
MAN7 := providers/rove/man/rove.7
MAN8 := Documentation/man/rove-pkey.8
# What DKMS needs to build the module, and no more.
DKMS_FILES := dkms.conf Kbuild COPYING LICENSES drivers include
DKMS_SRC := /usr/src/rove-$(VERSION)

.PHONY: all help modules provider examples
all: modules provider

help:
	@echo 'Without a guest, for this machine:'
	@echo '  modules    the kernel module, for KDIR (default: the running kernel)'
	@echo '  provider   the rdma-core provider, for the installed rdma-core'
	@echo '  all        both'
	@echo '  install    module (through DKMS where there is dkms), provider, driver'
	@echo '             file, udev rule, man pages; DESTDIR: all but the module'
	@echo '  uninstall  take all that away again'
	@echo '  examples   the tutorial programs, against the installed libibverbs'
	@echo 'Tests (see Documentation/testing.md):'
	@echo '  demo       two hosts in a guest: link, pingpong, rping, a table of speeds'
	@echo '  check      every test; all set-up included'
	@echo '  unit fuzz sim   the pure core: unit tests, fuzzing, simulated networks'
	@echo '  lint       checkpatch, sparse, shellcheck, cppcheck, house rules'
	@echo '  lab        build all that the guests need'
	@echo '  bench      rove, rxe and TCP side by side, in a guest'
	@echo 'Other:'
	@echo '  clean      what was built for this machine'
	@echo 'Variables: KDIR, KVER, O (build folder: $(O)), DESTDIR,'
	@echo '  VERBS_PROVIDER_DIR, RDMA_CORE_SRC (source of the installed rdma-core)'

# ---- this machine --------------------------------------------------------------

modules:
	@test -e $(KDIR)/Makefile || { echo 'no headers of the kernel $(KVER) in $(KDIR);' \
		'on Debian: apt-get install linux-headers-$(KVER)' >&2; exit 1; }
	$(MAKE) -C $(KDIR) M=$(CURDIR) modules

provider:
	tools/provider-build $(O)/provider

examples:
	$(MAKE) -C tools/examples O=$(O)/examples

.PHONY: install uninstall install-module install-files
install: install-module install-files

# A package that is built with DESTDIR leaves modules to DKMS.
ifneq ($(DESTDIR),)
install-module:
else ifneq ($(DKMS),)
install-module:
	-dkms remove rove/$(VERSION) --all >/dev/null 2>&1
	rm -rf $(DKMS_SRC)
	mkdir -p $(DKMS_SRC)
	tar -c --exclude-from=.gitignore $(DKMS_FILES) | tar -x --no-same-owner -C $(DKMS_SRC)
	dkms add rove/$(VERSION)
	dkms install rove/$(VERSION) -k $(KVER)
else
install-module: modules
	$(MAKE) -C $(KDIR) M=$(CURDIR) modules_install
	depmod $(KVER)
endif

# make, then sudo make install: what was built is taken as it is, unless it is of older
# sources or for another rdma-core.
install-files:
	tools/provider-build -n $(O)/provider
	install -d $(DESTDIR)$(VERBS_PROVIDER_DIR) $(DESTDIR)$(VERBS_CONFIG_DIR) \
		$(DESTDIR)$(UDEV_RULES_DIR) $(DESTDIR)$(MANDIR)/man4 $(DESTDIR)$(MANDIR)/man7 \
		$(DESTDIR)$(MANDIR)/man8 $(DESTDIR)$(SBINDIR)
	install -m 644 $$(readlink -f $(O)/provider/librove-rdmav.so) \
		$(DESTDIR)$(VERBS_PROVIDER_DIR)/
	echo 'driver rove' >$(DESTDIR)$(VERBS_CONFIG_DIR)/rove.driver
	install -m 644 tools/udev/60-rove.rules $(DESTDIR)$(UDEV_RULES_DIR)/
	install -m 644 $(MAN4) $(DESTDIR)$(MANDIR)/man4/
	install -m 644 $(MAN7) $(DESTDIR)$(MANDIR)/man7/
	install -m 644 $(MAN8) $(DESTDIR)$(MANDIR)/man8/
	install -m 755 tools/rove-pkey $(DESTDIR)$(SBINDIR)/
	test -n '$(DESTDIR)' || ! command -v udevadm >/dev/null || udevadm control --reload || true

uninstall:
	test -n '$(DESTDIR)' || test -z '$(DKMS)' || ! dkms status rove/$(VERSION) | grep -q . || \
		dkms remove rove/$(VERSION) --all
	test -n '$(DESTDIR)' || rm -rf $(DKMS_SRC)
	test -n '$(DESTDIR)' || ! find /lib/modules/$(KVER) -name 'rove.ko*' -delete -print | grep -q . || \
		depmod $(KVER)
	rm -f $(DESTDIR)$(VERBS_PROVIDER_DIR)/librove-rdmav*.so \
		$(DESTDIR)$(VERBS_CONFIG_DIR)/rove.driver \
		$(DESTDIR)$(UDEV_RULES_DIR)/60-rove.rules \
		$(DESTDIR)$(MANDIR)/man4/$(notdir $(MAN4)) $(DESTDIR)$(MANDIR)/man7/$(notdir $(MAN7)) \
		$(DESTDIR)$(MANDIR)/man8/$(notdir $(MAN8)) $(DESTDIR)$(SBINDIR)/rove-pkey

# ---- tests ------------------------------------------------------------------------

.PHONY: demo check unit fuzz sim lint lab bench
demo:
	tests/demo

check:
	tests/check -l ci

unit fuzz sim:
	$(MAKE) -C tests/$@

lint:
	tools/lint

lab:
	tests/lab/lab setup

bench:
	tools/bench/bench

# ---- the rest -----------------------------------------------------------------------

.PHONY: clean
clean:
	test ! -e $(KDIR)/Makefile || $(MAKE) -C $(KDIR) M=$(CURDIR) clean
	rm -rf $(O)
