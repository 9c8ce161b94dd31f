/** A trial of an operation, with a key where the API needs one: a form from its document, and the response. The key is sent with the call, and not stored. */
import { useSignal } from '@preact/signals'
import { ApiError, page, request } from '../api/client.ts'
import { Field, Form, TextField } from '../components/dialog.tsx'
import { Empty } from '../components/layout.tsx'
import { duration } from '../components/numbers.ts'
import { Code } from '../components/text.tsx'
import { query, setQuery } from '../state/router.ts'
import { user } from '../state/session.ts'
import type { CatalogApi } from './catalog-api.ts'
import { type ApiDocument, exampleOf, type Operation, typeOf } from './document.ts'
import { signInHref } from './sign-in.ts'
import { bodyText, contentOf } from './trial-body.ts'

/** For a response that is shown. */
const MAX_SHOWN_CHARS = 200_000
/** Before the name of a header parameter: the server of the portal forwards those that are safe, and no other header of a trial. */
const PARAMETER_PREFIX = 'x-portal-header-'
/** A name that `fetch` and the listener accept; one with `_` would not reach the API either (src/model/passthrough.ts). */
const HEADER_NAME = /^[a-z\d-]+$/i

interface Shown {
  readonly status: number
  readonly ms: number
  readonly headers: string
  readonly body: string
}

export function TryIt({ document, api }: { readonly document: ApiDocument; readonly api: CatalogApi }) {
  if (user.value === undefined)
    return (
      <Empty title="Sign in to call the API from this page">
        <a href={signInHref()}>Sign in</a>
      </Empty>
    )
  const { operations } = document
  const operation = operations.find(({ id }) => id === query.value.get('operation')) ?? operations[0]
  if (operation === undefined) return <Empty title="The OpenAPI document has no operations" />
  return (
    <div class="card try">
      <Field label="Operation">
        {id => (
          <select
            id={id}
            value={operation.id}
            onChange={event => setQuery({ operation: event.currentTarget.value })}
          >
            {operations.map(each => (
              <option key={each.id} value={each.id}>
                {each.method} {each.path}
              </option>
            ))}
          </select>
        )}
      </Field>
      <p class="muted">{operation.summary}</p>
      <Call key={operation.id} operation={operation} document={document} api={api} />
    </div>
  )
}

function Call({
  operation,
  document,
  api,
}: {
  readonly operation: Operation
  readonly document: ApiDocument
  readonly api: CatalogApi
}) {
  const shown = useSignal<Shown | undefined>(undefined)
  const { parameters, body, method } = operation
  const send = async (fields: FormData): Promise<void> => {
    shown.value = undefined
    shown.value = await call(api, operation, fields)
  }
  return (
    <>
      <Form submit={`Send ${method}`} onSubmit={send}>
        {api.auth_required && (
          <TextField
            label="Your key"
            name="key"
            type="password"
            hint="The key is sent with this call only, and is not stored."
            required
          />
        )}
        {parameters.map(({ name, in: place, required, schema, description }) => (
          <TextField
            key={`${place} ${name}`}
            label={`${name} (${place}${required ? ', required' : ''})`}
            name={`${place} ${name}`}
            hint={[typeOf(schema), description].filter(text => text !== '').join(': ')}
            value={required ? exampleText(schema, document) : ''}
            required={required}
          />
        ))}
        {body !== undefined && (
          <Field label={`Body (${body.mediaType})`}>
            {id => (
              <textarea
                id={id}
                name="body"
                rows={10}
                class="mono"
                spellcheck={false}
                defaultValue={bodyText(body.mediaType, exampleOf(body.schema, document.resolve))}
              />
            )}
          </Field>
        )}
      </Form>
      <div aria-live="polite">{shown.value !== undefined && <Response of={shown.value} />}</div>
    </>
  )
}

function Response({ of: { status, ms, headers, body } }: { readonly of: Shown }) {
  return (
    <div class="stack">
      <p class="num">
        {status} in {duration(ms)}
      </p>
      {headers !== '' && <Code text={headers} label="Response headers" />}
      <Code text={body === '' ? '(empty)' : body} label="Response body" />
    </div>
  )
}

function exampleText(schema: Operation['parameters'][number]['schema'], { resolve }: ApiDocument): string {
  const value = exampleOf(schema, resolve)
  return typeof value === 'object' ? '' : String(value)
}

/** The path of the API on the gateway, without the prefix that a proxy in front of the gateway may add. */
function gatewayPath({ public_url, tenant }: CatalogApi): string {
  return public_url.slice(public_url.lastIndexOf(`/t/${tenant}/`) + 1)
}

async function call(api: CatalogApi, operation: Operation, fields: FormData): Promise<Shown> {
  const fieldText = (name: string): string => String(fields.get(name) ?? '')
  const given = operation.parameters
    .map(({ name, in: place }) => ({ name, place, value: fieldText(`${place} ${name}`) }))
    .filter(({ value }) => value !== '')
  let target = operation.path
  const search = new URLSearchParams()
  const headers: Record<string, string> = { 'x-csrf-token': page.csrf }
  for (const { name, place, value } of given) {
    if (place === 'path') target = target.replaceAll(`{${name}}`, encodeURIComponent(value))
    else if (place === 'query') search.append(name, value)
    else if (HEADER_NAME.test(name)) headers[PARAMETER_PREFIX + name] = value
  }
  if (api.auth_required) headers['x-portal-key'] = fieldText('key')
  const text = fieldText('body')
  const startedAt = performance.now()
  const joined = search.toString()
  try {
    const response = await request(`try/${gatewayPath(api)}${target}${joined === '' ? '' : `?${joined}`}`, {
      method: operation.method,
      ...(operation.body === undefined || text === ''
        ? { headers }
        : contentOf(operation.body.mediaType, text, headers)),
      anyStatus: true,
    })
    return shownOf(response.status, startedAt, response.headers, await response.text())
  } catch (error) {
    // 401 of the gateway: the key is not valid
    if (!(error instanceof ApiError) || error.code === 'signed_out') throw error
    return shownOf(error.status, startedAt, new Headers(), error.message)
  }
}

function shownOf(status: number, startedAt: number, headers: Headers, text: string): Shown {
  return {
    status,
    ms: performance.now() - startedAt,
    headers: [...headers].map(([name, value]) => `${name}: ${value}`).join('\n'),
    body: pretty(text).slice(0, MAX_SHOWN_CHARS),
  }
}

function pretty(text: string): string {
  try {
    return JSON.stringify(JSON.parse(text), null, 2)
  } catch {
    return text
  }
}
