import { StreamRoom } from './stream-room';

describe('the number of open event streams', () => {
  const open = (room: StreamRoom, organizationId: string) => {
    room.requireFreeStreamSlot(organizationId);
    return room.takeStreamSlot(organizationId);
  };

  it.each([
    ['one organization', { maxStreams: 9, maxStreamsPerOrganization: 2 }, ['a', 'a', 'a'], 'rate_limited'],
    ['all organizations', { maxStreams: 2, maxStreamsPerOrganization: 9 }, ['a', 'b', 'c'], 'service_unavailable'],
  ])('%s can open the maximum number of streams, and another one after one is closed', (_, options, names, code) => {
    const room = new StreamRoom(options);
    const close = open(room, names[0]!);
    open(room, names[1]!);
    expect(() => open(room, names[2]!)).toThrow(expect.objectContaining({ code }));
    close();
    expect(() => open(room, names[2]!)).not.toThrow();
  });
});
