import { Editor } from '../terminal/editor/editor.ts'
import type { EditorOptions } from '../terminal/editor/editor-options.ts'
import { KeyDecoder } from '../terminal/editor/key-decoder.ts'
import { Recall } from '../terminal/editor/recall.ts'
import { LineInput, type SessionInput } from '../terminal/input.ts'
import type { SessionOptions, SessionStyle } from './session-options.ts'

type Hooks = Pick<EditorOptions, 'complete' | 'onEvent' | 'onChange'>

/** The editor, where the terminal lets us draw one. */
export function openInput(options: SessionOptions, style: SessionStyle, hooks: Hooks): SessionInput {
  const { terminal, recallPath } = options
  if (!terminal.addressable) return new LineInput(hooks.onEvent)
  const recall = Recall.open(recallPath)
  const editor = new Editor({ ...hooks, recall, style })
  const decoder = new KeyDecoder((key) => editor.handle(key))
  return {
    get text() {
      return editor.text
    },
    setText(text) {
      editor.setText(text)
      return true
    },
    offer(text) {
      editor.offer(text)
      return true
    },
    feed: (typed) => decoder.push(typed),
    view: (columns, rows) => editor.view(columns, rows),
    close: () => decoder.close(),
  }
}
