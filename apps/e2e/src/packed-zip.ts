import { execFileSync } from 'node:child_process';

/** Returns a zip that Python's zipfile module has written. */
export function packWithPython(files: Record<string, string>): Buffer {
  const code =
    'import io, json, sys, zipfile\nout = io.BytesIO()\nwith zipfile.ZipFile(out, "w") as z:\n' +
    '  [z.writestr(name, text) for name, text in json.load(sys.stdin).items()]\nsys.stdout.buffer.write(out.getvalue())';
  return execFileSync('python3', ['-c', code], { input: JSON.stringify(files) });
}
