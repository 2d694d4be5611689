module.exports = async function globalTeardown() {
  await globalThis.__musterTestStack?.stop();
};
