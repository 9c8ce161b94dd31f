/** Shortens property tests: a run of the suite is repeated for every mutant. It changes no expectation. */
import fc from 'fast-check'

fc.configureGlobal({ interruptAfterTimeLimit: 250 })
