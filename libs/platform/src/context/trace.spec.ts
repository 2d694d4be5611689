import { acceptRequestId, continueTrace } from './trace';

describe('a trace', () => {
  it('continues a traceparent with a new span', () => {
    const given = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01';
    expect(continueTrace(given)).toMatch(/^00-0af7651916cd43dd8448eb211c80319c-[0-9a-f]{16}-01$/);
    expect(continueTrace(given)).not.toBe(given);
  });

  it.each([
    undefined,
    '',
    '00-short-b7ad6b7169203331-01',
    '00-00000000000000000000000000000000-b7ad6b7169203331-01',
    '00-0af7651916cd43dd8448eb211c80319c-0000000000000000-01',
    'ff-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01',
    'x'.repeat(10_000),
  ])('is new for an invalid traceparent: %p', (given) =>
    expect(continueTrace(given)).toMatch(/^00-[0-9a-f]{32}-[0-9a-f]{16}-01$/),
  );
});

describe('a request id', () => {
  it.each(['abc', 'A-1_2.3', 'x'.repeat(128)])('is accepted: %p', (given) =>
    expect(acceptRequestId(given)).toBe(given),
  );
  it.each([undefined, '', 'a b', 'a\nb', 'x'.repeat(129), '<x>'])('is replaced if it is not valid: %p', (given) =>
    expect(acceptRequestId(given)).toMatch(/^[0-9a-f]{24}$/),
  );
});
