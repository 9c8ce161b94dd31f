/** The list of pages: address, title, shortcut, and which plane must be there. It draws nothing. */
import type { ComponentType } from 'preact'
import { Calls } from './calls/calls.tsx'
import { Catalogue } from './catalogue/catalogue.tsx'
import { Now } from './now.tsx'

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
  { path: 'now', title: 'Now', key: 'n', component: Now },
  { path: 'calls', title: 'Calls', key: 'c', component: Calls },
  { path: 'catalogue', title: 'Catalogue', key: 'a', needsControlPlane: true, component: Catalogue },
]
