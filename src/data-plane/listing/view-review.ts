/** What a ToolView would show and list of a catalog's tools, and the tokens that this costs a model. */

import { inSlices } from '../../base/async/slices.ts'
import type { Tool } from '../../model/tool.ts'
import type { ToolView, ViewFigures } from '../../model/tool-view.ts'
import { viewRules } from '../../model/view-rules.ts'
import { EVERYTHING } from '../pipeline/selection.ts'
import { shownTools, withinBudget } from './offered-tools.ts'
import { definitionTokens } from './tool-view.ts'

/** @param tools of the catalog; those of other tenants, and resources and prompts, are left out */
export async function reviewView(view: ToolView, tools: readonly Tool[]): Promise<ViewFigures> {
  const rules = viewRules(view)
  const offer = { selection: EVERYTHING, view: rules, views: [rules], key: '' }
  const seen = tools.filter(
    ({ tenant, feature }) =>
      feature === undefined && (tenant === null || view.tenant === null || tenant === view.tenant),
  )
  const shown = shownTools(
    seen.map(tool => ({ tool })),
    offer,
  )
  let tokens = 0
  // later sums read what this has measured
  await inSlices(shown, ({ tool }) => {
    tokens += definitionTokens(tool)
  })
  const { all, listed, isSearched } = withinBudget(shown, offer)
  const isListed = new Set(listed)
  return {
    tools: shown.map(({ tool }) => tool.name),
    unlisted: shown.filter(each => !isListed.has(each)).map(({ tool }) => tool.name),
    tokens,
    listedTokens: all.reduce((sum, { tool }) => sum + definitionTokens(tool), 0),
    isSearched,
  }
}
