/** Shows progress as one line that is overwritten on a terminal, and as a new line every 10 seconds in a log. */
export function createProgress(stream: NodeJS.WriteStream): { show: (line: string) => void; end: () => void } {
  const everyMs = stream.isTTY ? 100 : 10_000;
  let shownAt = stream.isTTY ? 0 : Date.now();
  let isOpen = false;
  return {
    show: (line) => {
      if (Date.now() - shownAt < everyMs) return;
      shownAt = Date.now();
      isOpen = Boolean(stream.isTTY);
      stream.write(stream.isTTY ? `\r\x1b[2K${line}` : `${line}\n`);
    },
    end: () => {
      if (isOpen) stream.write('\r\x1b[2K');
      isOpen = false;
    },
  };
}
