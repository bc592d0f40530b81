import { once } from 'node:events'
import { parentPort, workerData } from 'node:worker_threads'
import { replaceFile } from '../../src/system/files/replace-file.ts'

const { path, content, times } = workerData
// Begins together with the reader and the other writers.
parentPort?.postMessage('ready')
if (parentPort) await once(parentPort, 'message')
parentPort?.unref()
for (let time = 0; time < times; time++) replaceFile(path, content, { flush: false })
