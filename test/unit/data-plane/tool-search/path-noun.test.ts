/** What the path of a tool says it returns, and whether a request asks for one thing or several. */
import { describe, expect, it } from 'vitest'
import { countFit, countsOf, nounFit, pathNounOf } from '../../../../src/data-plane/tool-search/path-noun.ts'
import type { Tool } from '../../../../src/model/tool.ts'

const noun = (method: string, path: string) => pathNounOf({ request: { method, path } } as Tool)

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
    expect(countFit(list, countsOf('Show the teams of acme'))).toBe(1)
    expect(countFit(one, countsOf('Show the teams of acme'))).toBe(0)
    expect(countFit(list, countsOf('Show the team "backend"'))).toBe(0)
    expect(countFit(one, countsOf('Show the team "backend"'))).toBe(1)
    // both forms, or neither, say nothing
    expect(countFit(list, countsOf('the team of all teams'))).toBe(1)
    expect(countFit(list, countsOf('Who is in it?'))).toBe(1)
  })

  it('is named in full, in a synonym, or not at all', () => {
    const words = new Map([['team', 1]])
    const terms = new Map([...words, ['group', 0.3]])
    expect(nounFit(noun('GET', '/teams'), words, terms)).toBe(1)
    expect(nounFit(noun('GET', '/groups'), words, terms)).toBeCloseTo(0.7)
    expect(nounFit(noun('GET', '/orders'), words, terms)).toBe(0)
    expect(nounFit(noun('GET', '/{id}'), words, terms)).toBe(1)
  })
})
