/** Columns of text, each as wide as its widest cell; the last one gets what is left of the line. */
import { clip, widthOf } from './width.ts'

export type Column = { readonly title: string; readonly align?: 'left' | 'right' }

const GAP = '  '

type TableLook = { readonly width: number; readonly title: (text: string) => string }

/** A row, and what is told about it on lines of their own below, where there is no room for more columns. */
export type DetailedRow = { readonly cells: readonly string[]; readonly details: readonly string[] }

export function renderDetailed(
  columns: readonly Column[],
  rows: readonly DetailedRow[],
  look: TableLook,
): string[] {
  const [head = '', ...lines] = renderTable(
    columns,
    rows.map(({ cells }) => cells),
    look,
  )
  const below = rows.map(({ details }) => details.filter((text) => widthOf(text) > 0))
  return [
    head,
    ...lines.flatMap((line, i) => [
      line,
      ...(below[i] ?? []).map((text) => clip(`${GAP}${GAP}${text}`, look.width)),
    ]),
  ]
}

export function renderTable(
  columns: readonly Column[],
  rows: readonly (readonly string[])[],
  { width, title }: TableLook,
): string[] {
  const widths = columns.map((column, i) =>
    Math.max(widthOf(column.title), ...rows.map((row) => widthOf(row[i] ?? ''))),
  )
  const layOut = (cells: readonly string[]): string =>
    clip(
      cells
        .map((cell, i) => pad(cell, widths[i] ?? 0, columns[i]?.align ?? 'left'))
        .join(GAP)
        .trimEnd(),
      width,
    )
  return [title(layOut(columns.map((column) => column.title))), ...rows.map(layOut)]
}

export function pad(text: string, width: number, align: 'left' | 'right'): string {
  const space = ' '.repeat(Math.max(0, width - widthOf(text)))
  return align === 'left' ? text + space : space + text
}
