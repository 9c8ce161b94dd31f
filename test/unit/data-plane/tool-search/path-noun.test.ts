/** What the path of a tool says it is about, and how a request names that. */
import { describe, expect, it } from 'vitest'
import {
  countFit,
  countsOf,
  identifiedFit,
  type Named,
  nounFit,
  pathNounOf,
  unnamedParents,
} from '../../../../src/data-plane/tool-search/path-noun.ts'
import type { Tool } from '../../../../src/model/tool.ts'

const noun = (method: string, path: string) => pathNounOf({ request: { method, path } } as Tool)

const NOTHING: Named = {
  names: new Map(),
  freeValues: 0,
  hasPair: false,
  identified: [],
  prefixes: [],
  counts: new Map(),
  values: 1,
}
const counted = (text: string): Named => ({ ...NOTHING, counts: countsOf(text) })
const named = (...names: [string, number][]): Named => ({ ...NOTHING, names: new Map(names) })

describe('the noun of a path', () => {
  it.each([
    ['GET', '/orgs/{org}/teams', true],
    ['GET', '/orgs/{org}/teams/{team}', false],
    ['GET', '/rate_limit', undefined],
    ['POST', '/orgs/{org}/teams', undefined],
  ])('%s %s: a collection %s', (method, path, isCollection) => {
    expect(noun(method, path).isCollection).toBe(isCollection)
  })

  it('fits a request in the same number', () => {
    const list = noun('GET', '/teams')
    const one = noun('GET', '/teams/{team}')
    expect(countFit(list, counted('Show the teams of acme'))).toBe(1)
    expect(countFit(one, counted('Show the teams of acme'))).toBe(0)
    expect(countFit(list, counted('Show the team "backend"'))).toBe(0)
    expect(countFit(one, counted('Show the team "backend"'))).toBe(1)
    // both forms, or neither, say nothing
    expect(countFit(list, counted('the team of all teams'))).toBe(1)
    expect(countFit(list, counted('Who is in it?'))).toBe(1)
    expect(countFit(list, counted('the team list'))).toBe(1)
    expect(countFit(one, counted('the team history'))).toBe(0)
  })

  it('is counted by the last word of a compound, and by a plural that means the same', () => {
    expect(countsOf('the team boards').get('team')).toBeUndefined()
    expect(countsOf('the boards', () => ['project']).get('project')).toBe(true)
    expect(countsOf('the board', () => ['project']).get('project')).toBeUndefined()
  })

  it('is hardly one thing when nothing says which', () => {
    expect(countFit(noun('GET', '/teams/{team}'), { ...NOTHING, values: 0 })).toBeLessThan(1)
  })

  it('is named in full, in a synonym, or not at all', () => {
    const request = named(['team', 1], ['group', 0.7])
    expect(nounFit(noun('GET', '/teams'), request)).toBe(1)
    expect(nounFit(noun('GET', '/groups'), request)).toBeCloseTo(0.7)
    expect(nounFit(noun('GET', '/orders'), request)).toBe(0)
    expect(nounFit(noun('GET', '/{id}'), request)).toBe(1)
  })
})

describe('the places of a path', () => {
  it('count as named by their noun, by a value alone, or by owner/name', () => {
    const comments = noun('GET', '/repos/{owner}/{repo}/issues/{number}/comments')
    expect(unnamedParents(comments, NOTHING)).toBe(2)
    expect(unnamedParents(comments, named(['issu', 1]))).toBe(1)
    expect(unnamedParents(comments, { ...NOTHING, hasPair: true })).toBe(1)
    expect(unnamedParents(comments, { ...NOTHING, hasPair: true, freeValues: 1 })).toBe(0)
    // the thing itself is not a parent
    expect(unnamedParents(noun('GET', '/issues/{number}'), NOTHING)).toBe(0)
  })

  it('are those whose things the request identifies', () => {
    const order = { ...NOTHING, identified: [new Set(['order'])] }
    expect(identifiedFit(noun('GET', '/orders/{id}/items'), order)).toBe(1)
    expect(identifiedFit(noun('GET', '/orders'), order)).toBe(0)
    // "create order 7"
    expect(identifiedFit(noun('POST', '/orders'), order)).toBe(1)
    expect(identifiedFit(noun('GET', '/items'), NOTHING)).toBe(1)
    // owner/name
    expect(identifiedFit(noun('GET', '/repos/{owner}/{repo}'), { ...NOTHING, hasPair: true })).toBe(1)
    expect(identifiedFit(noun('GET', '/gists/{id}'), { ...NOTHING, hasPair: true })).toBe(0)
  })

  it('are known by the first part of an id', () => {
    const account = { ...NOTHING, prefixes: ['acct'] }
    expect(identifiedFit(noun('GET', '/accounts/{id}'), account)).toBe(1)
    expect(identifiedFit(noun('GET', '/actions/{id}'), account)).toBe(0)
    expect(identifiedFit(noun('GET', '/items/{id}'), account)).toBe(0)
  })
})
