/** Names that are suggested for an unknown tool: which, how many, and in what time. */
import { describe, expect, it } from 'vitest'
import { nearNames } from '../../../../src/data-plane/stages/3-limit/near-names.ts'

const NAMES = ['shop_listProducts', 'shop_getProduct', 'shop_placeOrder', 'shop_getOrder', 'billing_pay']

describe('near names', () => {
  it.each([
    ['shop_listProduct', ['shop_listProducts']],
    ['listProducts', ['shop_listProducts']],
    ['shop.list-products', ['shop_listProducts']],
    ['mcp__toolgate__billing_pay', ['billing_pay']],
    ['shop_getOrdr', ['shop_getOrder']],
    ['delete_everything', []],
    ['a', []],
    ['', []],
  ])('of %s', (unknown, expected) => expect(nearNames(unknown, NAMES).slice(0, 1)).toEqual(expected))

  it('are at most three, and take little time among many', () => {
    const many = Array.from({ length: 20_000 }, (_, i) => `operation_number_with_a_long_name_${i}`)
    const started = performance.now()
    expect(nearNames(`operation_number_with_a_long_nama_${'9'.repeat(30)}`, many)).toHaveLength(0)
    expect(nearNames('operation_number_with_a_long_name', many)).toHaveLength(3)
    expect(performance.now() - started).toBeLessThan(2000)
  })
})
