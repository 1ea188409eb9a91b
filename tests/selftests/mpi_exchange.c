// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * mpi_exchange ROUNDS [windows]: every rank sends to every other one, in the ways that
 * MPI has: all to all, messages of odd lengths at once, sums, and, with "windows",
 * memory of others that is written, read and counted in.  All that arrives is checked.
 */
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LONGEST	(1 << 20)

static int rank, ranks;
static long wrong, bytes;

/* Word @i of what @from sends @to in round @round. */
static uint32_t word(int from, int to, int round, uint32_t i)
{
	uint32_t x = from * 2654435761u ^ to * 40503u ^ round * 69069u ^ i * 2246822519u;

	return x ^ x >> 15;
}

static void fill(uint32_t *buf, size_t words, int to, int round)
{
	size_t i;

	for (i = 0; i < words; i++)
		buf[i] = word(rank, to, round, i);
}

static void check(const char *what, const uint32_t *buf, size_t words, int from, int round)
{
	size_t i;

	bytes += words * sizeof(*buf);
	for (i = 0; i < words && buf[i] == word(from, rank, round, i); i++)
		;
	if (i == words)
		return;
	if (!wrong++)
		printf("rank %d: %s, round %d: word %zu of %zu from %d is wrong\n", rank, what,
		       round, i, words, from);
}

static uint32_t *words_for(size_t words)
{
	uint32_t *buf = calloc(words, sizeof(*buf));

	if (!buf)
		MPI_Abort(MPI_COMM_WORLD, 2);
	return buf;
}

static void all_to_all(int round)
{
	static const int counts[] = { 1, 3, 255, 2049, 20000 };
	size_t c;

	for (c = 0; c < sizeof(counts) / sizeof(counts[0]); c++) {
		int n = counts[c], i;
		uint32_t *out = words_for((size_t)n * ranks), *in = words_for((size_t)n * ranks);

		for (i = 0; i < ranks; i++)
			fill(out + (size_t)i * n, n, i, round);
		MPI_Alltoall(out, n, MPI_UINT32_T, in, n, MPI_UINT32_T, MPI_COMM_WORLD);
		for (i = 0; i < ranks; i++)
			check("all to all", in + (size_t)i * n, n, i, round);
		free(out);
		free(in);
	}
}

/* The words of the message between two ranks: from none to a quarter of a million. */
static int length(int from, int to, int round)
{
	return word(from, to, round, 0) % (LONGEST >> (word(to, from, round, 1) % 16)) / 4;
}

static void messages(int round)
{
	MPI_Request *req = calloc(2 * ranks, sizeof(*req));
	uint32_t **in = calloc(ranks, sizeof(*in)), **out = calloc(ranks, sizeof(*out));
	int i;

	if (!req || !in || !out)
		MPI_Abort(MPI_COMM_WORLD, 2);
	for (i = 0; i < ranks; i++) {
		in[i] = words_for(length(i, rank, round) + 1);
		MPI_Irecv(in[i], length(i, rank, round), MPI_UINT32_T, i, round, MPI_COMM_WORLD,
			  &req[i]);
	}
	for (i = 0; i < ranks; i++) {
		out[i] = words_for(length(rank, i, round) + 1);
		fill(out[i], length(rank, i, round), i, round);
		MPI_Isend(out[i], length(rank, i, round), MPI_UINT32_T, i, round, MPI_COMM_WORLD,
			  &req[ranks + i]);
	}
	MPI_Waitall(2 * ranks, req, MPI_STATUSES_IGNORE);
	for (i = 0; i < ranks; i++) {
		check("message", in[i], length(i, rank, round), i, round);
		free(in[i]);
		free(out[i]);
	}
	free(req);
	free(in);
	free(out);
}

static void sums(int round)
{
	int64_t mine[1000], all[1000];
	int i, expected = ranks * (ranks - 1) / 2;

	for (i = 0; i < 1000; i++)
		mine[i] = (int64_t)rank * (i + round);
	MPI_Allreduce(mine, all, 1000, MPI_INT64_T, MPI_SUM, MPI_COMM_WORLD);
	for (i = 0; i < 1000 && all[i] == (int64_t)expected * (i + round); i++)
		;
	wrong += i != 1000;
}

/* A window of a counter and a slot for each rank. */
static void one_sided(int round)
{
	enum { SLOT = 5000 };
	uint32_t *base, *out = words_for(SLOT), *back = words_for(SLOT);
	int64_t one = 1, before, *counter;
	MPI_Win win;
	int i;

	MPI_Win_allocate(sizeof(*counter) + (MPI_Aint)SLOT * ranks * sizeof(*base), 1,
			 MPI_INFO_NULL, MPI_COMM_WORLD, &counter, &win);
	base = (uint32_t *)(counter + 1);
	*counter = 0;
	memset(base, 0, (size_t)SLOT * ranks * sizeof(*base));
	MPI_Barrier(MPI_COMM_WORLD);

	MPI_Win_lock_all(0, win);
	for (i = 0; i < ranks; i++) {
		MPI_Aint at = sizeof(*counter) + (MPI_Aint)SLOT * rank * sizeof(*base);

		fill(out, SLOT, i, round);
		MPI_Put(out, SLOT, MPI_UINT32_T, i, at, SLOT, MPI_UINT32_T, win);
		MPI_Win_flush(i, win);
		MPI_Get(back, SLOT, MPI_UINT32_T, i, at, SLOT, MPI_UINT32_T, win);
		MPI_Win_flush(i, win);
		wrong += !!memcmp(out, back, SLOT * sizeof(*out));
		MPI_Fetch_and_op(&one, &before, MPI_INT64_T, i, 0, MPI_SUM, win);
		MPI_Win_flush(i, win);
		wrong += before < 0 || before >= ranks;
	}
	MPI_Win_unlock_all(win);
	MPI_Barrier(MPI_COMM_WORLD);

	MPI_Win_lock(MPI_LOCK_SHARED, rank, 0, win);
	for (i = 0; i < ranks; i++)
		check("window", base + (size_t)SLOT * i, SLOT, i, round);
	if (*counter != ranks) {
		wrong++;
		printf("rank %d: counted to %ld\n", rank, (long)*counter);
	}
	MPI_Win_unlock(rank, win);
	MPI_Win_free(&win);
	free(out);
	free(back);
}

int main(int argc, char *argv[])
{
	long mine[2], all[2];
	int i, rounds;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &ranks);
	rounds = argc > 1 ? atoi(argv[1]) : 3;
	for (i = 0; i < rounds; i++) {
		all_to_all(i);
		messages(i);
		sums(i);
		if (argc > 2)
			one_sided(i);
	}
	mine[0] = wrong;
	mine[1] = bytes;
	MPI_Allreduce(mine, all, 2, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
	if (!rank)
		printf("%d ranks: %ld bytes checked, %ld wrong\n", ranks, all[1], all[0]);
	MPI_Finalize();
	return all[0] ? 1 : 0;
}
