// The order in which test files start. Files that start processes of the product are heavy, and several of them at once
// make each other wait, so they are spread evenly among the files that run in the worker's own process. The order does
// not depend on earlier runs, because CI has none.
const { statSync } = require('node:fs');
const { sep } = require('node:path');
const Sequencer = require('@jest/test-sequencer').default;

const startProcesses = [joinFolders('apps', 'e2e'), joinFolders('apps', 'worker'), joinFolders('libs', 'vm')];

module.exports = class SpreadProcesses extends Sequencer {
  sort(tests) {
    const bySize = [...tests].sort((one, other) => readFileSize(other) - readFileSize(one));
    const heavy = bySize.filter(isHeavy);
    const light = bySize.filter((test) => !isHeavy(test));
    // No heavy file is among the last ones, so that no worker waits alone for a long file.
    const gap = Math.max(1, Math.floor((light.length * 0.8) / (heavy.length + 1)));
    const order = [];
    for (const [at, test] of light.entries()) {
      if (at % gap === 0 && heavy.length > 0) order.push(heavy.shift());
      order.push(test);
    }
    return [...order, ...heavy];
  }
};

function joinFolders(...names) {
  return `${sep}${names.join(sep)}${sep}`;
}

function isHeavy({ path }) {
  return startProcesses.some((folder) => path.includes(folder));
}

function readFileSize({ path }) {
  return statSync(path).size;
}
