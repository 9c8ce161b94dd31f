/** Actions of buttons that ask nothing: a failed one is shown, and the list is loaded again either way. */
import { type Signal, useSignal } from '@preact/signals'

interface Actions {
  /** Runs the action of a button; a second one does not wait for the first. */
  act(work: () => Promise<unknown>): void
  /** Why the last action failed. */
  readonly failure: Signal<string | undefined>
}

/** @param reload of the list that the actions change: a failed one may show a state that has passed */
export function useActions(reload: () => Promise<void>): Actions {
  const failure = useSignal<string | undefined>(undefined)
  const run = async (work: () => Promise<unknown>): Promise<void> => {
    failure.value = undefined
    try {
      await work()
    } catch (error) {
      failure.value = (error as Error).message
    }
    await reload()
  }
  return { act: work => void run(work), failure }
}

export function ActionFailure({ of: { failure } }: { readonly of: Actions }) {
  return failure.value === undefined ? null : (
    <p class="notice bad" role="alert">
      {failure.value}
    </p>
  )
}
