/** Parts of pages: heading, sections, tabs, and what is shown while data is loading, missing or refused. */
import type { ComponentChildren } from 'preact'
import { useEffect } from 'preact/hooks'
import { ApiError } from '../api/client.ts'
import type { Resource } from '../api/resource.ts'
import { href } from '../state/router.ts'
import { siteTitle } from '../state/session.ts'

interface PageProps {
  readonly title: string
  /** One sentence: what the page shows. */
  readonly lead?: ComponentChildren
  readonly actions?: ComponentChildren
  readonly children: ComponentChildren
}

export function Page({ title, lead, actions, children }: PageProps) {
  useEffect(() => {
    document.title = title === siteTitle.value ? title : `${title} · ${siteTitle.value}`
  }, [title, siteTitle.value])
  return (
    <div class="page">
      <header class="page-head">
        <div>
          <h1>{title}</h1>
          {lead !== undefined && <p class="lead">{lead}</p>}
        </div>
        {actions !== undefined && <div class="actions">{actions}</div>}
      </header>
      {children}
    </div>
  )
}

export function Section(props: {
  readonly title: string
  readonly actions?: ComponentChildren
  readonly children: ComponentChildren
}) {
  return (
    <section class="section">
      <header class="section-head">
        <h2>{props.title}</h2>
        {props.actions !== undefined && <div class="actions">{props.actions}</div>}
      </header>
      {props.children}
    </section>
  )
}

export interface Tab {
  readonly to: string
  readonly title: string
}

export function Tabs({
  label,
  tabs,
  current,
}: {
  readonly label: string
  readonly tabs: readonly Tab[]
  readonly current: string
}) {
  return (
    <nav class="tabs" aria-label={label}>
      {tabs.map(({ to, title }) => (
        <a key={to} href={href(to)} aria-current={to === current ? 'page' : undefined}>
          {title}
        </a>
      ))}
    </nav>
  )
}

export function Empty({
  title,
  children,
}: {
  readonly title: string
  readonly children?: ComponentChildren
}) {
  return (
    <div class="empty">
      <p class="empty-title">{title}</p>
      {children !== undefined && <div class="muted">{children}</div>}
    </div>
  )
}

export function Failure({ error, retry }: { readonly error: Error; readonly retry?: () => void }) {
  // 403 is also the status of a page whose session has changed
  const isDenied = error instanceof ApiError && error.status === 403 && error.code !== 'foreign_page'
  return (
    <div class="failure" role="alert">
      <p class="empty-title">
        {isDenied ? 'The policy does not allow this request' : 'The data could not be loaded'}
      </p>
      <p>{error.message}</p>
      {isDenied && error.decisionId !== undefined && (
        <p>
          <a href={href('policy', { decision: error.decisionId })}>Explain this decision</a>
        </p>
      )}
      {!isDenied && retry !== undefined && (
        <button type="button" class="button" onClick={retry}>
          Retry
        </button>
      )}
    </div>
  )
}

/** The value of a resource, or its state. A failed reload keeps the value and shows a notice. */
export function Loaded<T>({
  of,
  children,
}: {
  readonly of: Resource<T>
  readonly children: (value: T) => ComponentChildren
}) {
  const { value, error, reload } = of
  if (value.value === undefined) {
    if (error.value !== undefined) return <Failure error={error.value} retry={() => void reload()} />
    return (
      <div class="loading" role="status">
        Loading…
      </div>
    )
  }
  return (
    <>
      {error.value !== undefined && (
        <p class="notice bad" role="alert">
          This data may be out of date, because the last refresh failed: {error.value.message}
        </p>
      )}
      {children(value.value)}
    </>
  )
}
