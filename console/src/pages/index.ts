/** The list of pages: address, title, shortcut, and which plane must be there. It draws nothing. */
import type { ComponentType } from 'preact'
import { Catalogue } from './catalogue/catalogue.tsx'

export interface PageEntry {
  /** First segment of its addresses. */
  readonly path: string
  readonly title: string
  /** After `g`. */
  readonly key: string
  readonly needsControlPlane?: true
  readonly component: ComponentType
}

export const PAGES: readonly PageEntry[] = [
  { path: 'catalogue', title: 'Catalogue', key: 'a', needsControlPlane: true, component: Catalogue },
]
