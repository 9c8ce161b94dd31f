/** Names that are suggested for an unknown tool: which, how many, and in what time. */
import { describe, expect, it } from 'vitest'
import { nearNames } from '../../../../../src/data-plane/stages/3-limit/near-names.ts'
import { growth } from '../../../../fixtures/cpu-time.ts'

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

  const namesTo = (count: number) =>
    Array.from({ length: count }, (_, i) => `operation_number_with_a_long_name_${i}`)

  it('are at most three, and none of another length', () => {
    const many = namesTo(20_000)
    expect(nearNames(`operation_number_with_a_long_nama_${'9'.repeat(30)}`, many)).toHaveLength(0)
    expect(nearNames('operation_number_with_a_long_name', many)).toHaveLength(3)
  })

  it('take little more time among many names than among some', () => {
    const unknown = 'operation_number_with_a_long_nama_9'
    const find = (names: readonly string[]) => expect(nearNames(unknown, names)).toHaveLength(3)
    expect(growth(find, namesTo(400), namesTo(100_000), 8)).toBeLessThan(8)
    const far = (names: readonly string[]) => expect(nearNames('nothing_like_these', names)).toHaveLength(0)
    expect(growth(far, namesTo(10_000), namesTo(200_000), 5)).toBeLessThan(5)
  })
})
