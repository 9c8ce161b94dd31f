/** A request becomes words, what means the same, what it wants to do, and which things it names. */
import { describe, expect, it } from 'vitest'
import { askedIn } from '../../../../src/data-plane/tool-search/actions.ts'
import { readQuery, type Vocabulary } from '../../../../src/data-plane/tool-search/query.ts'
import { rootOf } from '../../../../src/data-plane/tool-search/roots.ts'
import { wordsOf } from '../../../../src/data-plane/tool-search/words.ts'

const knowing = (...words: string[]): Vocabulary => ({
  has: word => words.includes(word),
  isCommon: () => false,
  isRare: word => !words.includes(word),
  relatedTo: word => words.filter(other => other !== word && rootOf(other) === rootOf(word)),
})

describe('what a request wants', () => {
  it.each([
    ['Which team may push?', ['read']],
    ['Has order 7 arrived yet', ['read']],
    ['Could you delete it?', ['delete']],
    ['Decide which teams may push', ['update']],
    ['Details of the refund', ['read']],
    // a noun, since an article stands before it
    ['The order of the customer', []],
    ['Open pull requests?', ['read', 'create']],
    ['the weather?', ['read']],
  ])('%s', (request, actions) => {
    const words = wordsOf(request)
    const asked = askedIn(words, words[0], request.endsWith('?'))
    expect([...asked.actions].sort()).toEqual([...actions].sort())
  })

  it('is not a question when a value comes first', () => {
    expect([...askedIn(['should', 'remov', 'access'], '7', false).actions]).toEqual(['delete'])
  })

  it.each([
    ['octo/app should no longer see it', 'delete'],
    ['Schalte die Prüfung nicht mehr ein', 'delete'],
    ['We need a new team', 'create'],
    ['Boot up the machine', 'create'],
    ['Abort the import', 'delete'],
    ['Switch the workflow main.yml back on', 'update'],
    ['Give me the order', 'read'],
  ])('%s', (request, action) => {
    expect([...readQuery(request).actions]).toContain(action)
  })
})

it('what a request wants is not said by participles', () => {
  const { actions } = readQuery('Lines added and removed per week')
  expect(actions.has('create') || actions.has('delete')).toBe(false)
})

describe('a name without an article', () => {
  it.each([
    ['Which repositories does octocat own?', 'octocat'],
    ['What has dora starred?', 'dora'],
    ['Who is dora?', 'dora'],
  ])('%s', (request, name) => {
    const { words, freeValues } = readQuery(request, knowing('repository', 'own', 'star'))
    expect([...words.keys()]).not.toContain(name)
    expect(freeValues).toBe(1)
  })

  it('is not a word of the tools, nor an id', () => {
    expect(readQuery('Does billing work?', knowing('bill')).words.has('bill')).toBe(true)
    expect(readQuery('Does acct_7 take cards?', knowing('card', 'take')).prefixes).toEqual(['acct'])
  })
})

describe('the words of a request', () => {
  it('are spelled in one way', () => {
    expect(wordsOf('repos of an org')).toEqual(wordsOf('repositories of an organisation'))
  })

  it('are joined, split and abbreviated as tools write them', () => {
    expect(readQuery('the top up', knowing('topup')).words.has('topup')).toBe(true)
    expect(readQuery('an invoice item', knowing('invoiceitem')).words.has('invoiceitem')).toBe(true)
    const { words } = readQuery('the blocklist', knowing('block', 'list'))
    expect([...words.keys()]).toEqual(expect.arrayContaining(['block', 'list']))
    expect(readQuery('large file storage', knowing('lfs')).words.has('lfs')).toBe(true)
  })

  it('bring words of their family and of everyday speech', () => {
    expect(readQuery('approve it', knowing('approval')).searched.has('approval')).toBe(true)
    expect(readQuery('undo the payment', knowing('reversal')).searched.has('reversal')).toBe(true)
  })

  it('of German compounds are their parts', () => {
    expect([...readQuery('Zeige die Rechnungsadresse').words.keys()]).toEqual(
      expect.arrayContaining(['invoic', 'address']),
    )
  })
})

describe('the things that a request names', () => {
  const vocabulary = knowing('order', 'show', 'member')

  it('are nouns with a value, values, and owner/name', () => {
    const query = readQuery('Show order number 7 of octo/app to bob, cus_9 and "x"', vocabulary)
    expect(query.identified.map(nouns => [...nouns][0])).toEqual(['order'])
    expect(query.hasPair).toBe(true)
    expect(query.prefixes).toEqual(['cus'])
    // bob, cus_9, "x"
    expect(query.freeValues).toBe(3)
    expect(query.values).toBe(5)
  })

  it('may be files', () => {
    const { identified } = readQuery('Show the order main.yml', vocabulary)
    expect(identified.map(nouns => [...nouns][0])).toEqual(['order'])
  })

  it('are not amounts', () => {
    expect(readQuery('Add 2,000 euros', knowing('add', 'euro')).values).toBe(0)
  })
})

it.each([
  ['approval', 'approve'],
  ['verification', 'verify'],
  ['organisation', 'organize'],
  ['subscription', 'subscribe'],
  ['visibility', 'visible'],
  ['follower', 'follow'],
])('%s and %s are of one family', (one, other) => {
  expect(rootOf(wordsOf(one)[0]!)).toBe(rootOf(wordsOf(other)[0]!))
})

it('keeps words apart that only look like a family', () => {
  expect(rootOf('customer')).not.toBe(rootOf('custom'))
})
