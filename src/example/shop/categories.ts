/** Categories, kept as a list with parents and shown as a tree. Products are only counted here. */
import type { ShopFields } from './fields.ts'
import { shopConflict } from './problem.ts'
import type { ShopResponse } from './request.ts'
import type { Route } from './router.ts'
import type { Category, ShopState } from './state.ts'

export const CATEGORY_ID = { max: 20, pattern: /^C-\d+$/, form: 'a category such as C-1' }
const MAX_DEPTH = 8

interface Branch {
  readonly name: string
  readonly children: readonly Branch[]
}

export function categoryRoutes(state: ShopState): Route[] {
  return [
    {
      method: 'GET',
      path: '/categories',
      handle: request => {
        const fields = request.query({ integers: ['depth'] })
        const depth =
          fields.optional('depth', () => fields.integer('depth', { min: 1, max: MAX_DEPTH })) ?? MAX_DEPTH
        fields.done()
        return { status: 200, body: childrenOf(state, undefined).map(top => treeOf(state, top, depth)) }
      },
    },
    {
      method: 'POST',
      path: '/categories',
      handle: request => {
        const fields = request.body()
        const parentId = fields.optional('parentId', () => fields.text('parentId', CATEGORY_ID))
        const branch = fields.object('category', inner => readBranch(inner, 1))
        fields.done()
        return plant(state, parentId, branch)
      },
    },
    {
      method: 'DELETE',
      path: '/categories/{categoryId}',
      handle: request => remove(state, state.categories.get(request.param('categoryId'))),
    },
  ]
}

/** The category itself and all below it. @throws Problem 404 */
export function categoryWithDescendants(state: ShopState, id: string): Set<string> {
  const found = new Set([state.categories.get(id).id])
  // parents are made before their children, so one pass in order finds every descendant
  for (const category of state.categories.all())
    if (category.parentId !== undefined && found.has(category.parentId)) found.add(category.id)
  return found
}

function childrenOf(state: ShopState, parentId: string | undefined): Category[] {
  return state.categories.all().filter(category => category.parentId === parentId)
}

function treeOf(state: ShopState, category: Category, depth: number): object {
  const below = categoryWithDescendants(state, category.id)
  return {
    id: category.id,
    name: category.name,
    productCount: state.products.all().filter(product => below.has(product.categoryId)).length,
    children: depth === 1 ? [] : childrenOf(state, category.id).map(child => treeOf(state, child, depth - 1)),
  }
}

function readBranch(fields: ShopFields, depth: number): Branch {
  const name = fields.text('name', { min: 1, max: 60 })
  if (depth >= MAX_DEPTH && fields.has('children')) {
    fields.fault('children', `go deeper than ${MAX_DEPTH} levels`)
    return { name, children: [] }
  }
  const children = fields.optional('children', () =>
    fields.list('children', { min: 0, max: 50 }, (items, at) =>
      items.object(at, child => readBranch(child, depth + 1)),
    ),
  )
  if (children !== undefined && new Set(children.map(child => child.name)).size !== children.length)
    fields.fault('children', 'must not repeat a name')
  return { name, children: children ?? [] }
}

function plant(state: ShopState, parentId: string | undefined, branch: Branch): ShopResponse {
  const level = parentId === undefined ? 0 : depthOf(state, state.categories.get(parentId))
  if (level + heightOf(branch) > MAX_DEPTH)
    throw shopConflict('too-deep', `Categories go at most ${MAX_DEPTH} levels deep.`)
  if (childrenOf(state, parentId).some(other => other.name === branch.name))
    throw shopConflict('name-taken', `There is a category ${branch.name} in this place already.`)
  state.categories.reserve(sizeOf(branch))
  const add = (parent: string | undefined, { name, children }: Branch): Category => {
    const category = state.categories.add(id => ({ id, name, parentId: parent }))
    for (const child of children) add(category.id, child)
    return category
  }
  return { status: 201, body: treeOf(state, add(parentId, branch), MAX_DEPTH) }
}

function depthOf(state: ShopState, category: Category): number {
  return category.parentId === undefined ? 1 : 1 + depthOf(state, state.categories.get(category.parentId))
}

function heightOf(branch: Branch): number {
  return 1 + Math.max(0, ...branch.children.map(heightOf))
}

function sizeOf(branch: Branch): number {
  return branch.children.reduce((sum, child) => sum + sizeOf(child), 1)
}

function remove(state: ShopState, category: Category): ShopResponse {
  const held = state.products.all().filter(product => product.categoryId === category.id).length
  const below = childrenOf(state, category.id).length
  if (held + below > 0)
    throw shopConflict(
      'category-not-empty',
      `Category ${category.id} holds ${held} products and ${below} categories; move or delete them first.`,
    )
  state.categories.delete(category.id)
  return { status: 204 }
}
