import * as prompt from '@inquirer/core'
import type { SessionList } from '../../chat/session-options.ts'
import type { TranscriptSummary } from '../../chat/transcript/transcript.ts'

/** The sessions with these words. */
type Found = { words?: string; items: readonly TranscriptSummary[]; chosen: number }

type Picked = TranscriptSummary | undefined
type Config = { message: string; list: SessionList; output: { columns: number; rows: number } }

/**
 * The sessions above the input line, the newest at the bottom. The search of @inquirer/prompts begins at the top.
 * The result is undefined if the user leaves with Esc.
 */
export const listPrompt = prompt.createPrompt<Picked, Config>(({ message, list, output }, done) => {
  const theme = prompt.makeTheme({})
  const [typed, setTyped] = prompt.useState('')
  const [{ words, items, chosen }, setFound] = prompt.useState<Found>({ items: [], chosen: 0 })
  const isEntered = prompt.useRef(false)
  const height = prompt.useRef(0)
  prompt.useEffect(() => {
    let isCurrent = true
    void list.find(typed).then((found) => {
      if (!isCurrent) return
      if (isEntered.current && found.length > 0) done(found[0])
      isEntered.current = false
      setFound({ words: typed, items: found, chosen: 0 })
    })
    return () => {
      isCurrent = false
    }
  }, [typed])
  prompt.useKeypress((key, line) => {
    const move = (to: number) =>
      setFound({ words, items, chosen: Math.max(0, Math.min(items.length - 1, to)) })
    if (key.name === 'escape') return done(undefined)
    if (prompt.isUpKey(key)) move(chosen + 1)
    else if (prompt.isDownKey(key)) move(chosen - 1)
    else if (prompt.isEnterKey(key)) {
      // The items may not yet be those of the typed words.
      isEntered.current = words !== typed
      if (words === typed && items.length > 0) return done(items[chosen])
    } else if (!prompt.isTabKey(key)) return setTyped(line.line)
    // These keys change the input line, too.
    line.clearLine(0)
    line.write(typed)
  })
  const { columns = 80, rows = 24 } = output
  const page = Math.max(1, Math.min(15, rows - 4))
  const first = Math.max(0, chosen - page + 1)
  const shown = items.slice(first, first + page).map((item, index) => {
    const text = list.row(item, columns - 3)
    return first + index === chosen ? theme.style.highlight(`> ${text}`) : `  ${text}`
  })
  if (words === typed && items.length === 0) shown.push('  No match.')
  // While it is filtered, the list keeps its height, so that the input line stays where it is.
  height.current = Math.max(height.current, shown.length)
  const blank = Array<string>(height.current - shown.length).fill('')
  const question = `${prompt.usePrefix({ theme })} ${theme.style.message(message, 'idle')} ${typed}`
  const keys = theme.style.help('Type to filter · Up/Down · Enter · Esc')
  return [[...blank, ...shown.reverse(), question].join('\n'), keys]
})
