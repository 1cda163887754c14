/** The numbers behind a picture, for who cannot see it and who wants to copy them. */
import type { ComponentChildren, JSX } from 'preact'
import { changeQuery, place } from '../state/address.ts'

export type FiguresProps = {
  /** The word in the address that shows them. */
  readonly name: string
  readonly caption: string
  readonly head: readonly string[]
  readonly rows: readonly (readonly (string | number)[])[]
  readonly children: ComponentChildren
}

export function useIsTable(name: string): boolean {
  return place.value.query.get('table') === name
}

export function TableToggle({ name }: { readonly name: string }): JSX.Element {
  const isTable = useIsTable(name)
  return (
    <button
      class="quiet"
      aria-pressed={isTable}
      onClick={() => changeQuery({ table: isTable ? undefined : name }, 'replace')}
    >
      As table
    </button>
  )
}

export function WithFigures({ name, caption, head, rows, children }: FiguresProps): JSX.Element {
  if (!useIsTable(name)) return <>{children}</>
  return (
    <div class="table-box figures" tabIndex={0} role="region" aria-label={caption}>
      <table>
        <caption>{caption}</caption>
        <thead>
          <tr>
            {head.map((title, i) => (
              <th key={title} scope="col" class={i === 0 ? '' : 'number'}>
                {title}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row) => (
            <tr key={row[0]}>
              {row.map((cell, i) => (
                <td key={head[i]} class={i === 0 ? '' : 'number'}>
                  {cell}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  )
}
