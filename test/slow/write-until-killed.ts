import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { TranscriptWriter } from '../../src/chat/transcript/transcript-writer.ts'
import { systemClock } from '../../src/system/clock.ts'

/** Appends one number after another, and reports each one after it is appended. */
const directory = mkdtempSync(join(tmpdir(), 'chatctl-killed-'))
const writer = TranscriptWriter.create(directory, { profile: null, baseUrl: null }, systemClock)
writer.append({ type: 'user', turn: 1, at: new Date().toISOString(), text: 'Count' })
process.send?.({ path: writer.path })
let number = 0
setInterval(() => {
  number++
  writer.append({ type: 'delta', turn: 1, text: `${number} ` })
  process.send?.({ number })
}, 1)
