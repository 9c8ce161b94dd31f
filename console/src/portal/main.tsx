/** Starts the portal: session, links, theme and the shell. */
import { render } from 'preact'
import '../styles/main.css'
import '../styles/portal.css'
import { followLinks } from '../state/router.ts'
import { loadSession } from '../state/session.ts'
import '../state/theme.ts'
import { App } from './app.tsx'

followLinks()
void loadSession()
render(<App />, document.getElementById('portal')!)
