import { countOf, groupDigits } from './format/count.ts'
import { plain, type View } from './format/view.ts'

/** The result of an import: numbers of rows by status. */
export const importView: View = {
  layout: 'pairs',
  columns: [
    ...plain('rows', 'created', 'updated', 'already_done', 'failed', 'unknown', 'skipped', 'remaining'),
    ...plain('requests', 'results', 'failed_rows', 'unknown_rows'),
  ],
}

/** The requests that an import would send. */
export const importForecastView: View = {
  layout: 'pairs',
  columns: plain('rows', 'already_done', 'creates', 'updates', 'assignments', 'requests'),
}

/** Imports that were closed, and their progress. */
export const closedView: View = {
  layout: 'records',
  columns: [{ path: 'file' }, { path: 'service' }, { path: 'rows' }, { path: 'sent' }, { path: 'unknown' }],
}

/** The number of requests of an import, by kind. */
export interface ForecastSummary {
  rows: number
  done: number
  steps: { create: number; update: number; assign: number }
  requests: number
}

/** `300 rows, 470 requests: 300 creates, 20 updates, 150 assignments`. */
export function summarizeForecast({ rows, done, steps, requests }: ForecastSummary): string {
  const { create, update, assign } = steps
  const kinds = [
    ...(create > 0 ? [countOf(create, 'create')] : []),
    ...(update > 0 ? [countOf(update, 'update')] : []),
    ...(assign > 0 ? [countOf(assign, 'assignment')] : []),
  ]
  const left = done > 0 ? ` (${groupDigits(done)} done before)` : ''
  return `${countOf(rows, 'row')}${left}, ${countOf(requests, 'request')}: ${kinds.join(', ') || 'nothing left to send'}`
}
