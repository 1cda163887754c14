// Each is a mistake that someone could make: a name, what it changes, and what it makes of it.

const COMPARISONS = [
  ['comparison', / <= /g, ' < '],
  ['comparison', / >= /g, ' > '],
  ['comparison', / < /g, ' <= '],
  ['comparison', / > /g, ' >= '],
]

const ARITHMETIC = [
  ['off by one', / \+ 1\b/g, ' + 0'],
  ['off by one', / - 1\b/g, ' - 0'],
  ['sign', / \+ /g, ' - '],
]

export const LUA_MISTAKES = [
  ...COMPARISONS,
  ...ARITHMETIC,
  ['comparison', / == /g, ' ~= '],
  ['comparison', / ~= /g, ' == '],
  ['min and max', /math\.min/g, 'math.max'],
  ['min and max', /math\.max/g, 'math.min'],
  ['logic', / and /g, ' or '],
  ['logic', / or /g, ' and '],
  ['negation', /\bnot /g, ''],
  ['condition', /\bif (.+) then$/g, 'if false then'],
  ['condition', /\bif (.+) then$/g, 'if true then'],
  ['statement', /^(\s*)(call|send|add|redis\.call)\(.*\)$/g, '$1do end'],
]

/** Of statements for any database. */
export const STATEMENT_MISTAKES = [
  ...COMPARISONS,
  ...ARITHMETIC,
  // What stands behind `set` is no comparison.
  ['comparison', /(?<=\b(?:where|and|or|on|if|when)\b.*) = (?!any)/gi, ' <> '],
  ['comparison', / <> /g, ' = '],
  ['least and greatest', /\bleast\(/gi, 'greatest('],
  ['least and greatest', /\bgreatest\(/gi, 'least('],
  ['least and greatest', /\bmin\(/gi, 'max('],
  ['least and greatest', /\bmax\(/gi, 'min('],
  ['logic', /\band /gi, 'or '],
  ['logic', /\bor /gi, 'and '],
  ['negation', /\bnot /gi, ''],
  ['null', /\bis null\b/gi, 'is not null'],
  ['null', /\bis not null\b/gi, 'is null'],
  ['order', /\border by ([\w.]+)(?![\w.(]| desc)/gi, 'order by $1 desc'],
]

/** Of databases that can count in a limit; PostgreSQL's functions have conditions and calls beside. */
export const SQL_MISTAKES = [
  ...STATEMENT_MISTAKES,
  ['limit', /\blimit (\w+|\?\d?)(?!\w)/gi, 'limit $1 + 1'],
  ['condition', /\b(els)?if (.+) then$/g, '$1if false then'],
  ['condition', /\b(els)?if (.+) then$/g, '$1if true then'],
  ['statement', /^(\s*)perform .*;$/g, '$1null;'],
]
