/* Token sequences that share beginnings, as a tree of pages: a node stands for all tokens up to a
 * point of the grid and holds the page of state of its last CLEF_GRID tokens. Two sequences with
 * the same beginning share its nodes, so its pages exist and count once.
 *
 * A step down the tree compares parent, salt and token ids, so a hit is exact; hashes only say
 * where to look. Knows neither entries nor budgets: its user hangs something on a node. */
#ifndef CLEF_STATE_PREFIX_TREE_H
#define CLEF_STATE_PREFIX_TREE_H

#include "base/digest.h"
#include "state/page_pool.h"

/* A sequence to look for. The salt stands for what decides its state beside the tokens (media, who
 * may share it) and counts for everything behind `salt_begin` tokens. */
typedef struct clef_prefix_key {
    const uint32_t *tokens; /* borrowed */
    size_t token_count;
    clef_digest salt;
    size_t salt_begin;
} clef_prefix_key;

typedef struct clef_prefix_node {
    struct clef_prefix_node *parent; /* NULL: of the first page */
    struct clef_prefix_node *next;   /* in its bucket */
    uint64_t hash;
    const uint32_t *tokens; /* [CLEF_GRID], behind the node in its block */
    clef_digest salt;
    float *page;       /* one reference */
    size_t depth;      /* pages from the start to the end of this one */
    size_t references; /* children and whoever holds the node; at 0 it goes */
    void *user;        /* what hangs here, or NULL */
} clef_prefix_node;

typedef struct clef_prefix_tree {
    clef_page_pool *pool;       /* borrowed */
    clef_prefix_node **buckets; /* owned; [bucket_count], a power of two */
    size_t bucket_count;
    size_t node_count;
    uint64_t seed; /* hashes differ between trees, so that nobody can aim at a bucket */
} clef_prefix_tree;

/* CLEF_OUT_OF_MEMORY. */
clef_status clef_prefix_tree_create(clef_page_pool *pool, uint64_t seed, clef_prefix_tree *tree,
                                    clef_error *error);
/* All nodes must have gone. */
void clef_prefix_tree_release(clef_prefix_tree *tree);

/* Bytes of a node without its page. */
size_t clef_prefix_node_bytes(void);

/* The node one page below `parent` (NULL: the first page) along the key; NULL when there is none or
 * the key ends before it. */
clef_prefix_node *clef_prefix_tree_step(const clef_prefix_tree *tree,
                                        const clef_prefix_node *parent, const clef_prefix_key *key);

/* The deepest node along the key within `limit` tokens; NULL when not even the first page is there.
 */
clef_prefix_node *clef_prefix_tree_find(const clef_prefix_tree *tree, const clef_prefix_key *key,
                                        size_t limit);

/* The node of the key's first `depth` pages, made with those above it where they are missing;
 * pages[i] is shared by the new ones. The caller gets one reference to it. NULL when memory is
 * short: then nothing has changed. */
clef_prefix_node *clef_prefix_tree_extend(clef_prefix_tree *tree, const clef_prefix_key *key,
                                          float *const *pages, size_t depth);

void clef_prefix_node_hold(clef_prefix_node *node);
/* One reference less; the last one drops page and node, and then those above that nobody needs. */
void clef_prefix_node_drop(clef_prefix_tree *tree, clef_prefix_node *node);

/* Pages that would go with the last reference to this node. */
size_t clef_prefix_node_alone(const clef_prefix_node *node);

/* Fills pages[0 … depth - 1], borrowed, from the start down to this node. */
void clef_prefix_node_pages(const clef_prefix_node *node, float **pages);

#endif
