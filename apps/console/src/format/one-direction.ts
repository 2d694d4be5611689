const directionMarks = /[\u202a-\u202e\u2066-\u2069]/g;

/** Removes bidirectional control characters from a name, which would reverse the text after it. */
export function removeDirectionMarks(name: string): string {
  return name.replaceAll(directionMarks, '');
}

/** Shows bidirectional control characters in code as escapes, because no character of code may be hidden or dropped. */
export function escapeDirectionMarks(code: string): string {
  return code.replaceAll(directionMarks, (turn) => `\\u${turn.charCodeAt(0).toString(16)}`);
}
