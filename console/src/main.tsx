/** Starts the console: session, links, theme and the shell. */
import { render } from 'preact'
import './styles/main.css'
import { App } from './app.tsx'
import { followLinks } from './state/router.ts'
import { loadSession } from './state/session.ts'
import './state/theme.ts'

followLinks()
void loadSession()
render(<App />, document.getElementById('console')!)
