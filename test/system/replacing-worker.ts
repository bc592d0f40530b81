import { workerData } from 'node:worker_threads'
import { replaceFile } from '../../src/system/files/replace-file.ts'

const { path, content, times } = workerData
for (let time = 0; time < times; time++) replaceFile(path, content, { flush: false })
