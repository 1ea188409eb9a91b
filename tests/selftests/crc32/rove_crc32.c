// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * A CRC-32 for crypto that is preferred to all others, to see what rove does with one
 * that is fast, slow or wrong: see ../crc32.sh.
 */
#include <crypto/internal/hash.h>
#include <linux/crc32.h>
#include <linux/module.h>
#include <linux/unaligned.h>

static unsigned long calls;
module_param(calls, ulong, 0444);
MODULE_PARM_DESC(calls, "how often it was asked, roughly");

static bool wrong;
module_param(wrong, bool, 0644);
MODULE_PARM_DESC(wrong, "one bit of each sum is");

/* Right only as long as nobody alters the buffer: while rove looks how fast it is. */
static bool fast;
module_param(fast, bool, 0644);
MODULE_PARM_DESC(fast, "know the buffer that was summed last by its address");

static DEFINE_SPINLOCK(lock);
static struct {
	const u8 *p;
	unsigned int len;
	u32 crc;
} last;

static u32 remembered(u32 crc, const u8 *p, unsigned int len)
{
	unsigned long flags;
	u32 of_zero;

	spin_lock_irqsave(&lock, flags);
	if (last.p != p || last.len != len) {
		last.p = p;
		last.len = len;
		last.crc = crc32_le(0, p, len);
	}
	of_zero = last.crc;
	spin_unlock_irqrestore(&lock, flags);
	return crc32_le_shift(crc, len) ^ of_zero;
}

static int set_key(struct crypto_shash *tfm, const u8 *key, unsigned int len)
{
	u32 *seed = crypto_shash_ctx(tfm);

	if (len != sizeof(*seed))
		return -EINVAL;
	*seed = get_unaligned_le32(key);
	return 0;
}

static int init(struct shash_desc *desc)
{
	const u32 *seed = crypto_shash_ctx(desc->tfm);
	u32 *crc = shash_desc_ctx(desc);

	*crc = *seed;
	return 0;
}

static int update(struct shash_desc *desc, const u8 *p, unsigned int len)
{
	u32 *crc = shash_desc_ctx(desc);

	calls++;
	*crc = fast ? remembered(*crc, p, len) : crc32_le(*crc, p, len);
	*crc ^= wrong;
	return 0;
}

static int final(struct shash_desc *desc, u8 *out)
{
	const u32 *crc = shash_desc_ctx(desc);

	put_unaligned_le32(*crc, out);
	return 0;
}

static struct shash_alg alg = {
	.setkey		= set_key,
	.init		= init,
	.update		= update,
	.final		= final,
	.descsize	= sizeof(u32),
	.digestsize	= sizeof(u32),
	.base		= {
		.cra_name		= "crc32",
		.cra_driver_name	= "crc32-rove-test",
		.cra_priority		= 5000,
		.cra_flags		= CRYPTO_ALG_OPTIONAL_KEY,
		.cra_blocksize		= 1,
		.cra_ctxsize		= sizeof(u32),
		.cra_module		= THIS_MODULE,
	},
};

static int __init rove_crc32_init(void)
{
	return crypto_register_shash(&alg);
}
module_init(rove_crc32_init);

static void __exit rove_crc32_exit(void)
{
	crypto_unregister_shash(&alg);
}
module_exit(rove_crc32_exit);

MODULE_DESCRIPTION("A CRC-32 to test rove's choice with");
MODULE_LICENSE("Dual BSD/GPL");
