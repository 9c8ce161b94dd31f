/** The list of pages: address, title, shortcut, and which plane must be there. */
import type { ComponentType } from 'preact'
import { Audit } from './audit.tsx'
import { Calls } from './calls/calls.tsx'
import { Catalogue } from './catalogue/catalogue.tsx'
import { Connect } from './connect.tsx'
import { Fleet } from './fleet.tsx'
import { Limits } from './limits.tsx'
import { Now } from './now.tsx'
import { Playground } from './playground/playground.tsx'
import { Policy } from './policy/policy.tsx'
import { Tools } from './tools/tools.tsx'

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
  { path: 'tools', title: 'Tools', key: 't', component: Tools },
  { path: 'playground', title: 'Playground', key: 'y', component: Playground },
  { path: 'policy', title: 'Policy', key: 'p', component: Policy },
  { path: 'limits', title: 'Limits', key: 'l', component: Limits },
  { path: 'catalogue', title: 'Catalog', key: 'a', needsControlPlane: true, component: Catalogue },
  { path: 'fleet', title: 'Fleet', key: 'f', component: Fleet },
  { path: 'audit', title: 'Audit', key: 'u', needsControlPlane: true, component: Audit },
  { path: 'connect', title: 'Connect', key: 'o', component: Connect },
]
