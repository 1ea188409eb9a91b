// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * CRC-32 where the library's goes by tables only: crypto may have one that uses the CPU's
 * vector instructions. Not each CPU gains by that, an emulated one loses; so both are
 * timed when the module is loaded, and the faster one is used from then on.
 */
#include <crypto/hash.h>
#include <linux/crc32.h>
#include <linux/err.h>
#include <linux/ktime.h>
#include <linux/module.h>
#include <linux/preempt.h>
#include <linux/slab.h>

/* So that an initramfs has it, too; without, crypto asks for it itself. */
MODULE_SOFTDEP("pre: crypto-crc32");

/* For less, the vector unit costs more than it saves. */
#define LEN_MIN		256
/* What is timed, and how often: the best of each counts. About 60 us on a real machine. */
#define SAMPLE		4096
#define ROUNDS		16

/* NULL: the library's. */
static struct crypto_shash *crc32_tfm __ro_after_init;

/* The descriptor has room for one u32. Who was found to be right does not fail. */
static u32 by_crypto(struct crypto_shash *tfm, u32 crc, const u8 *p, size_t len)
{
	u8 room[sizeof(struct shash_desc) + sizeof(u32)] __aligned(__alignof__(struct shash_desc));
	struct shash_desc *desc = (struct shash_desc *)room;
	u32 *state = shash_desc_ctx(desc);

	desc->tfm = tfm;
	*state = crc;
	crypto_shash_update(desc, p, len);
	return *state;
}

u32 rove_compat_crc32_le(u32 crc, const void *p, size_t len)
{
	if (!crc32_tfm || len < LEN_MIN)
		return crc32_le(crc, p, len);
	return by_crypto(crc32_tfm, crc, p, len);
}

struct try {
	u32 seed;
	u16 off;
	u16 len;
};

static const struct try tries[] __initconst = {
	{ 0, 0, LEN_MIN },
	{ ~0U, 1, LEN_MIN + 1 },
	{ 0x12345678, 8, 1024 },
	{ 0xdebb20e3, 15, 1500 },
	{ 1, 42, 2049 },
	{ 0x80000000, 0, SAMPLE },
};

static bool __init right(struct crypto_shash *tfm, const u8 *sample)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(tries); i++) {
		const u8 *p = sample + tries[i].off;

		if (by_crypto(tfm, tries[i].seed, p, tries[i].len) !=
		    crc32_le(tries[i].seed, p, tries[i].len))
			return false;
	}
	return true;
}

static u64 __init time_of(struct crypto_shash *tfm, u32 *crc, const u8 *sample)
{
	u64 begin, end;

	preempt_disable();
	begin = ktime_get_ns();
	*crc = tfm ? by_crypto(tfm, *crc, sample, SAMPLE) : crc32_le(*crc, sample, SAMPLE);
	end = ktime_get_ns();
	preempt_enable();
	return end - begin;
}

/* By a quarter or more: a clock may be coarse, and calls cost something, too. */
static bool __init faster(struct crypto_shash *tfm, const u8 *sample)
{
	u64 library = U64_MAX, crypto = U64_MAX;
	u32 crc = ~0U;
	bool is;
	int i;

	for (i = 0; i < ROUNDS; i++) {
		library = min(library, time_of(NULL, &crc, sample));
		crypto = min(crypto, time_of(tfm, &crc, sample));
	}
	is = crypto < library - library / 4;
	pr_debug("rove: %u bytes: crc32_le() %llu ns, %s %llu ns\n", SAMPLE, library,
		 crypto_shash_driver_name(tfm), crypto);
	return is;
}

void __init rove_compat_init(void)
{
	struct crypto_shash *tfm = crypto_alloc_shash("crc32", 0, 0);
	u8 *sample = kmalloc(SAMPLE, GFP_KERNEL);
	unsigned int i;

	/* One whose state is more than the register is not known here. */
	if (!sample || IS_ERR(tfm) || crypto_shash_descsize(tfm) != sizeof(u32))
		goto out;
	for (i = 0; i < SAMPLE; i++)
		sample[i] = i * 0x9e3779b1U >> 24;
	if (!right(tfm, sample))
		pr_warn("rove: %s does not give a right CRC-32, it is not used\n",
			crypto_shash_driver_name(tfm));
	else if (faster(tfm, sample))
		crc32_tfm = tfm;
out:
	pr_debug("rove: CRC-32 by %s\n",
		 crc32_tfm ? crypto_shash_driver_name(crc32_tfm) : "crc32_le()");
	if (!crc32_tfm)
		crypto_free_shash(tfm);
	kfree(sample);
}

void rove_compat_exit(void)
{
	crypto_free_shash(crc32_tfm);
}
