/* One hash table for all nodes of the tree, chained; a node's block holds its tokens too. */
#include "state/prefix_tree.h"

#include "backend/backend.h"
#include "base/memory.h"

#define FIRST_BUCKETS 64
#define TOKEN_BYTES   (CLEF_GRID * sizeof(uint32_t))

clef_status clef_prefix_tree_create(clef_page_pool *pool, uint64_t seed, clef_prefix_tree *tree,
                                    clef_error *error) {
    *tree = (clef_prefix_tree){.pool = pool, .seed = seed};
    tree->buckets = clef_allocate(FIRST_BUCKETS, sizeof *tree->buckets);
    if (tree->buckets == NULL) {
        return clef_fail_memory(error, FIRST_BUCKETS * sizeof *tree->buckets,
                                "the table of a prefix cache");
    }
    tree->bucket_count = FIRST_BUCKETS;
    return CLEF_OK;
}

void clef_prefix_tree_release(clef_prefix_tree *tree) {
    clef_release(tree->buckets);
    *tree = (clef_prefix_tree){0};
}

size_t clef_prefix_node_bytes(void) {
    return sizeof(clef_prefix_node) + TOKEN_BYTES;
}

static uint64_t mix(uint64_t hash, uint64_t word) {
    hash = (hash ^ word) * 0x9E3779B97F4A7C15u;
    return hash ^ (hash >> 29);
}

static uint64_t hash_page(uint64_t seed, const clef_digest *salt, const uint32_t *tokens) {
    uint64_t hash = seed;
    for (size_t i = 0; i < CLEF_DIGEST_BYTES; i += sizeof hash) {
        uint64_t word;
        memcpy(&word, salt->bytes + i, sizeof word);
        hash = mix(hash, word);
    }
    for (size_t i = 0; i < CLEF_GRID; i += 2) {
        hash = mix(hash, (uint64_t)tokens[i] << 32 | tokens[i + 1]);
    }
    return hash;
}

/* The salt of the page that ends behind `depth` pages. */
static clef_digest page_salt(const clef_prefix_key *key, size_t depth) {
    return depth * CLEF_GRID > key->salt_begin ? key->salt : (clef_digest){{0}};
}

static size_t depth_below(const clef_prefix_node *parent) {
    return parent == NULL ? 1 : parent->depth + 1;
}

clef_prefix_node *clef_prefix_tree_step(const clef_prefix_tree *tree,
                                        const clef_prefix_node *parent,
                                        const clef_prefix_key *key) {
    size_t depth = depth_below(parent);
    if (depth * CLEF_GRID > key->token_count) {
        return NULL;
    }
    const uint32_t *tokens = key->tokens + (depth - 1) * CLEF_GRID;
    clef_digest salt = page_salt(key, depth);
    uint64_t hash = hash_page(parent == NULL ? tree->seed : parent->hash, &salt, tokens);
    clef_prefix_node *node = tree->buckets[hash & (tree->bucket_count - 1)];
    while (node != NULL && !(node->hash == hash && node->parent == parent &&
                             memcmp(&node->salt, &salt, sizeof salt) == 0 &&
                             memcmp(node->tokens, tokens, TOKEN_BYTES) == 0)) {
        node = node->next;
    }
    return node;
}

clef_prefix_node *clef_prefix_tree_find(const clef_prefix_tree *tree, const clef_prefix_key *key,
                                        size_t limit) {
    clef_prefix_node *found = NULL;
    while (depth_below(found) * CLEF_GRID <= limit) {
        clef_prefix_node *below = clef_prefix_tree_step(tree, found, key);
        if (below == NULL) {
            break;
        }
        found = below;
    }
    return found;
}

/* A longer table while memory allows; without it chains only grow longer. */
static void grow_table(clef_prefix_tree *tree) {
    size_t count = 2 * tree->bucket_count;
    clef_prefix_node **buckets = clef_allocate(count, sizeof(clef_prefix_node *));
    if (buckets == NULL) {
        return;
    }
    for (size_t i = 0; i < tree->bucket_count; i++) {
        while (tree->buckets[i] != NULL) {
            clef_prefix_node *node = tree->buckets[i];
            tree->buckets[i] = node->next;
            node->next = buckets[node->hash & (count - 1)];
            buckets[node->hash & (count - 1)] = node;
        }
    }
    clef_release(tree->buckets);
    tree->buckets = buckets;
    tree->bucket_count = count;
}

static clef_prefix_node *add_node(clef_prefix_tree *tree, clef_prefix_node *parent,
                                  const clef_prefix_key *key, float *page) {
    clef_prefix_node *node = clef_allocate(1, clef_prefix_node_bytes());
    if (node == NULL) {
        return NULL;
    }
    if (tree->node_count >= tree->bucket_count) {
        grow_table(tree);
    }
    size_t depth = depth_below(parent);
    uint32_t *tokens = (uint32_t *)(void *)(node + 1);
    memcpy(tokens, key->tokens + (depth - 1) * CLEF_GRID, TOKEN_BYTES);
    node->tokens = tokens;
    node->salt = page_salt(key, depth);
    node->hash = hash_page(parent == NULL ? tree->seed : parent->hash, &node->salt, tokens);
    node->parent = parent;
    node->depth = depth;
    node->page = clef_page_share(page);
    clef_prefix_node **bucket = &tree->buckets[node->hash & (tree->bucket_count - 1)];
    node->next = *bucket;
    *bucket = node;
    tree->node_count++;
    if (parent != NULL) {
        parent->references++;
    }
    return node;
}

clef_prefix_node *clef_prefix_tree_extend(clef_prefix_tree *tree, const clef_prefix_key *key,
                                          float *const *pages, size_t depth) {
    clef_prefix_node *node = clef_prefix_tree_find(tree, key, depth * CLEF_GRID);
    if (node != NULL) {
        clef_prefix_node_hold(node);
    }
    while (depth_below(node) <= depth) {
        clef_prefix_node *below = add_node(tree, node, key, pages[depth_below(node) - 1]);
        if (below == NULL) {
            if (node != NULL) {
                clef_prefix_node_drop(tree, node);
            }
            return NULL;
        }
        clef_prefix_node_hold(below);
        if (node != NULL) {
            clef_prefix_node_drop(tree, node); /* its child keeps it */
        }
        node = below;
    }
    return node;
}

void clef_prefix_node_hold(clef_prefix_node *node) {
    node->references++;
}

static void remove_node(clef_prefix_tree *tree, clef_prefix_node *node) {
    clef_prefix_node **link = &tree->buckets[node->hash & (tree->bucket_count - 1)];
    while (*link != node) {
        link = &(*link)->next;
    }
    *link = node->next;
    tree->node_count--;
    clef_page_drop(tree->pool, node->page);
    clef_release(node);
}

void clef_prefix_node_drop(clef_prefix_tree *tree, clef_prefix_node *node) {
    while (node != NULL && --node->references == 0) {
        clef_prefix_node *parent = node->parent;
        remove_node(tree, node);
        node = parent;
    }
}

size_t clef_prefix_node_alone(const clef_prefix_node *node) {
    size_t pages = 0;
    while (node != NULL && node->references == 1) {
        pages++;
        node = node->parent;
    }
    return pages;
}

void clef_prefix_node_pages(const clef_prefix_node *node, float **pages) {
    for (; node != NULL; node = node->parent) {
        pages[node->depth - 1] = node->page;
    }
}
