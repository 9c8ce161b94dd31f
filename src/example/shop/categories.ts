/** The handlers of categories, with their tree, and the descendants of a category. */
import { shopConflict, shopInvalid } from './problem.ts'
import type { Handlers, ShopResponse } from './request.ts'
import type { Category, ShopState } from './state.ts'

const MAX_DEPTH = 8

interface Branch {
  readonly name: string
  readonly children?: readonly Branch[]
}

export function categoryHandlers(state: ShopState): Handlers {
  return {
    getCategoryTree({ query }) {
      const { depth = MAX_DEPTH } = query as { readonly depth?: number }
      return { status: 200, body: childrenOf(state, undefined).map(top => treeOf(state, top, depth)) }
    },
    createCategories({ body }) {
      const { parentId, category } = body as { readonly parentId?: string; readonly category: Branch }
      checkBranch(category, 1, '/category')
      return plant(state, parentId, category)
    },
    deleteCategory: ({ params }) => remove(state, state.categories.get(params.categoryId!)),
  }
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

/** @throws Problem 400 for what the schema of the document cannot express. */
function checkBranch({ children = [] }: Branch, depth: number, at: string): void {
  if (depth >= MAX_DEPTH && children.length > 0)
    throw shopInvalid([
      { field: `${at}/children`, message: `must not be nested deeper than ${MAX_DEPTH} levels` },
    ])
  if (new Set(children.map(child => child.name)).size !== children.length)
    throw shopInvalid([{ field: `${at}/children`, message: 'must have different names' }])
  for (const [index, child] of children.entries()) checkBranch(child, depth + 1, `${at}/children/${index}`)
}

function plant(state: ShopState, parentId: string | undefined, branch: Branch): ShopResponse {
  const level = parentId === undefined ? 0 : depthOf(state, state.categories.get(parentId))
  if (level + heightOf(branch) > MAX_DEPTH)
    throw shopConflict('too-deep', `Categories can be nested at most ${MAX_DEPTH} levels deep.`)
  if (childrenOf(state, parentId).some(other => other.name === branch.name))
    throw shopConflict('name-taken', `A category ${branch.name} already exists at this level.`)
  state.categories.reserve(sizeOf(branch))
  const add = (parent: string | undefined, { name, children = [] }: Branch): Category => {
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
  return 1 + Math.max(0, ...(branch.children ?? []).map(heightOf))
}

function sizeOf(branch: Branch): number {
  return (branch.children ?? []).reduce((sum, child) => sum + sizeOf(child), 1)
}

function remove(state: ShopState, category: Category): ShopResponse {
  const held = state.products.all().filter(product => product.categoryId === category.id).length
  const below = childrenOf(state, category.id).length
  if (held + below > 0) {
    const detail = `Category ${category.id} contains ${held} products and ${below} categories. First move or delete the products, and delete the categories.`
    throw shopConflict('category-not-empty', detail)
  }
  state.categories.delete(category.id)
  return { status: 204 }
}
