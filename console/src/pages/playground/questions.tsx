/** Questions of the gateway during a call, such as a confirmation that the policy asks for, and the user's responses. The playground sends them. */
import { useSignal } from '@preact/signals'
import type { Elicited, Inquiry } from './run-call.ts'
import { SchemaForm } from './schema-form.tsx'

type Values = Readonly<Record<string, Readonly<Record<string, unknown>>>>

export function Questions({
  of: { questions },
  onResponses,
}: {
  readonly of: Inquiry
  readonly onResponses: (responses: { readonly [id: string]: Elicited }) => Promise<void>
}) {
  const values = useSignal<Values>({})
  const faults = useSignal<Readonly<Record<string, string | undefined>>>({})
  const busy = useSignal(false)
  const isFaulty = Object.values(faults.value).some(text => text !== undefined)
  const respond = async (action: Elicited['action']): Promise<void> => {
    busy.value = true
    const responses = questions.map(({ id }) => [
      id,
      action === 'accept' ? { action, content: values.value[id] ?? {} } : { action },
    ])
    await onResponses(Object.fromEntries(responses))
    busy.value = false
  }
  return (
    <form
      class="card form"
      aria-label="Questions"
      onSubmit={event => {
        event.preventDefault()
        void respond('accept')
      }}
    >
      {questions.map(({ id, message, schema }) => (
        <div key={id}>
          <p role="alert">{message}</p>
          <SchemaForm
            schema={schema}
            value={values.value[id] ?? {}}
            onChange={next => {
              values.value = { ...values.value, [id]: next }
            }}
            onFault={(name, text) => {
              faults.value = { ...faults.value, [`${id} ${name}`]: text }
            }}
          />
        </div>
      ))}
      <div class="form-end">
        <button type="button" class="button" disabled={busy.value} onClick={() => void respond('cancel')}>
          Cancel
        </button>
        <button type="button" class="button" disabled={busy.value} onClick={() => void respond('decline')}>
          Decline
        </button>
        <button type="submit" class="button primary" disabled={busy.value || isFaulty}>
          Accept
        </button>
      </div>
    </form>
  )
}
