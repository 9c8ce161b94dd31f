/** What a request wants to do, and what a tool does: read, create, update or delete. It knows no words of a certain API. */
import type { Tool } from '../../model/tool.ts'
import { wordsOf } from './words.ts'

type Action = 'read' | 'create' | 'update' | 'delete'

/** English, then German, French, Spanish and Portuguese. */
const WORDS: { readonly [action in Action]: string } = {
  read: `get list show find search page browse read look view see check am fetch retrieve display open download count how is are was were does did
    has have any preview inspect which what who whose where when
    zeige liste finde suche lies welche welcher welches wer wie wann wo hole
    montre affiche cherche trouve quel quelle quels quelles qui muestra busca lista cual cuales quien
    zeig gib lese offne suchen affiche donne consulte voir ouvre consulta dame ver mostra mostre procure liste quais qual quem abra`,
  create: `create add new make register open start put publish define draft post insert set store write import upload submit invite
    give request generate build order issue begin launch send report book buy assign comment leave reply trigger save rerun retry repeat attach
    erstelle lege anlegen neue neuer neues fuge hinzu sende lade ajoute cree envoie nouvelle nouveau crea anade envia nuevo nueva
    lege starte veroffentliche creer lance publie demarre agrega publica inicia crie adicione envie publique novo nova`,
  update: `update change edit modify rename set correct replace overwrite move fix adjust switch alter raise lower mark put turn
    enable let decide make allow restrict require lock assign store save give
    andere aktualisiere setze benenne modifie change actualise renomme cambia actualiza modifica
    setz verschiebe ersetze aktiviere deplace remplace active mueve reemplaza activa altere atualize mude ative`,
  delete: `delete remove purge drop clear erase destroy withdraw revoke strip undo cancel lift rid uninstall unstar unfollow unlock
    kick throw exclude forbid deny stop take disable disconnect lose
    losche entferne widerrufe storniere supprime enleve retire annule borra elimina quita cancela
    losch stoppe deaktiviere kundige efface arrete desactive annuler deten borrar desactiva apague remova exclua cancele pare`,
}

const OF_WORD = new Map<string, Set<Action>>()
for (const [action, words] of Object.entries(WORDS) as [Action, string][])
  for (const written of words.split(/\s+/)) {
    const word = wordsOf(written)[0]!
    OF_WORD.set(word, (OF_WORD.get(word) ?? new Set()).add(action))
  }

/** The action is named early. */
const WORDS_READ = 8
const NONE: ReadonlySet<Action> = new Set()

export function isActionWord(word: string): boolean {
  return OF_WORD.has(word)
}

/** Of the first word that names one; empty when none does. */
export function actionsOfQuery(words: readonly string[]): ReadonlySet<Action> {
  for (const word of words.slice(0, WORDS_READ)) {
    const found = OF_WORD.get(word)
    if (found !== undefined) return found
  }
  return NONE
}

/** How well a tool fits the actions: 1 as asked, 0 the opposite. */
export function actionFit({ request: { method, path } }: Tool, wanted: ReadonlySet<Action>): number {
  if (method === 'GET' || method === 'HEAD') return wanted.has('read') ? 1 : 0
  if (method === 'DELETE') return wanted.has('delete') ? 1 : 0
  // to write to a thing itself is to change it
  const changes = method === 'PATCH' || method === 'PUT' || path.endsWith('}')
  if (wanted.has('update')) return changes ? 1 : 0.8
  if (wanted.has('create')) return method === 'POST' && !changes ? 1 : 0.7
  // a POST below a thing may do anything, such as cancel it
  return method === 'POST' && !wanted.has('read') ? 0.7 : 0
}
