/* Views: a part of a matrix, of heads or of a weight is the same elements seen from elsewhere. */
#include "support.h"

#include "tensor/matrix.h"

enum { ROWS = 5, COLUMNS = 12, STRIDE = 16 };

static float *element(clef_matrix matrix, size_t row, size_t column) {
    return matrix.data + row * matrix.stride + column;
}

static void parts_of_a_matrix_are_its_elements(void **state) {
    (void)state;
    float data[ROWS * STRIDE];
    clef_matrix whole = {data, ROWS, COLUMNS, STRIDE};
    clef_matrix part = clef_matrix_columns(clef_matrix_rows(whole, 2, 3), 4, 6);
    assert_int_equal(part.rows, 3);
    assert_int_equal(part.columns, 6);
    for (size_t row = 0; row < part.rows; row++) {
        for (size_t column = 0; column < part.columns; column++) {
            assert_ptr_equal(element(part, row, column), element(whole, row + 2, column + 4));
        }
    }
}

static void heads_are_columns(void **state) {
    (void)state;
    float data[ROWS * STRIDE];
    clef_matrix whole = {data, ROWS, COLUMNS, STRIDE};
    clef_heads heads = clef_matrix_heads(whole, 3);
    assert_int_equal(heads.heads, 3);
    assert_int_equal(heads.size, 4);
    assert_int_equal(heads.rows, ROWS);
    for (size_t row = 0; row < ROWS; row++) {
        for (size_t head = 0; head < 3; head++) {
            assert_ptr_equal(heads.data + row * heads.row_stride + head * heads.head_stride,
                             element(whole, row, head * 4));
        }
    }
}

static void rows_of_a_weight_skip_stored_bytes(void **state) {
    (void)state;
    static const clef_dtype types[] = {CLEF_DTYPE_F32, CLEF_DTYPE_BF16, CLEF_DTYPE_F16};
    static const char data[ROWS * COLUMNS * 4];
    for (size_t i = 0; i < 3; i++) {
        clef_weight whole = {.data = data, .dtype = types[i], .rows = ROWS, .columns = COLUMNS};
        clef_weight part = clef_weight_rows(whole, 3, 2);
        assert_int_equal(part.rows, 2);
        assert_int_equal(part.columns, COLUMNS);
        assert_int_equal(part.dtype, types[i]);
        assert_ptr_equal(part.data, data + 3 * COLUMNS * (i == 0 ? 4 : 2));
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(parts_of_a_matrix_are_its_elements),
        cmocka_unit_test(heads_are_columns),
        cmocka_unit_test(rows_of_a_weight_skip_stored_bytes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
