// Lets `require` load TypeScript files. It uses the build's output of a file, or compiles the file with the same
// options if the build leaves it out (specs, the console's sources).
const { existsSync, mkdirSync, readFileSync, renameSync, statSync, writeFileSync } = require('node:fs');
const { dirname, join, relative } = require('node:path');

const root = join(__dirname, '../../..');
/** The source map of each loaded file, by the file's path. */
const sourceMaps = new Map();
let compiler;

function installTypeScript(swcOptions) {
  require.extensions['.ts'] ??= (module, file) => module._compile(readCompiledCode(file, swcOptions), file);
  require.extensions['.tsx'] ??= require.extensions['.ts'];
  return sourceMaps;
}

function readCompiledCode(file, swcOptions) {
  const path = relative(root, file).replace(/\.tsx?$/, '.js');
  const built = [join(root, 'dist', path), join(root, 'dist/.cache/specs', path)];
  const found = built.find((place) => isNewer(place, file)) ?? compileFile(file, built[1], swcOptions);
  sourceMaps.set(file, `${found}.map`);
  return readFileSync(found, 'utf8');
}

/** Several processes may compile a file at once, so each writes a separate copy and renames it. */
function compileFile(file, target, swcOptions) {
  compiler ??= require('@swc/core');
  const { code, map } = compiler.transformFileSync(file, swcOptions);
  mkdirSync(dirname(target), { recursive: true });
  for (const [output, text] of [
    [`${target}.map`, map],
    [target, code],
  ]) {
    writeFileSync(`${output}.${process.pid}`, text);
    renameSync(`${output}.${process.pid}`, output);
  }
  return target;
}

function isNewer(built, source) {
  return existsSync(built) && statSync(built).mtimeMs > statSync(source).mtimeMs;
}

module.exports = { installTypeScript };
