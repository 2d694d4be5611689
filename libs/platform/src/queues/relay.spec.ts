import { Logger } from '@nestjs/common';
import { EventEmitter } from 'node:events';
import type { RedisConnections } from './redis-connections';
import { Relay } from './relay';

describe('the relay', () => {
  it('a listener that fails does not keep a payload from the others, and the log does not contain the payload', () => {
    const subscriber = Object.assign(new EventEmitter(), { subscribe: () => Promise.resolve() });
    const connections = { getImpatientConnection: () => ({ prefix: 'test' }), createSubscriber: () => subscriber };
    const relay = new Relay(connections as unknown as RedisConnections);
    const warn = jest.spyOn(Logger.prototype, 'warn').mockImplementation();
    const received: string[] = [];
    relay.listen('screen', (payload) => void JSON.parse(payload));
    relay.listen('screen', (payload) => received.push(payload));
    subscriber.emit('message', 'test:relay:screen', 'tooth 14');
    subscriber.emit('message', 'test:relay:other', 'unheard');
    expect(received).toEqual(['tooth 14']);
    expect(warn.mock.calls).toEqual([['a listener could not handle a relayed payload: SyntaxError']]);
    warn.mockRestore();
  });
});
