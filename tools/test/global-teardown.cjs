module.exports = async function globalTeardown() {
  process.emit('muster:tests-ended');
  await globalThis.__musterTestStack?.stop();
};
