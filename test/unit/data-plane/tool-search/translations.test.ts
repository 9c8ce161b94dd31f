/** Requests in other languages become English words, and English ones stay. */
import { expect, it } from 'vitest'
import { readQuery } from '../../../../src/data-plane/tool-search/query.ts'

const wordsIn = (request: string): readonly string[] => [...readQuery(request).words.keys()]

it.each([
  ['Zeige die Rechnungen der Kunden', ['invoic', 'customer']],
  ['Affiche les factures de nos clients', ['invoic', 'customer']],
  ['Muestra las facturas de los clientes', ['invoic', 'customer']],
  ['Mostra as faturas dos nossos clientes', ['invoic', 'customer']],
  // `comment` is the French "how"
  ['Commente cette facture', ['comment', 'invoic']],
  ['Commentez la facture', ['comment', 'invoic']],
  // `as` and `do` are English too, and prove nothing
  ['Liste as variáveis do ambiente', ['variabl', 'environment']],
])('%s', (request, words) => {
  expect(wordsIn(request)).toEqual(expect.arrayContaining(words))
})

it('reads the French question as no comment', () => {
  expect(wordsIn('Comment créer une facture')).not.toContain('comment')
})

it('leaves English words that are spelled like others', () => {
  // `carte` has the stem of `cart`, `local` is a place in Portuguese
  expect(wordsIn('Put three items into the cart of the local customer')).toEqual(
    expect.arrayContaining(['cart', 'local']),
  )
})
