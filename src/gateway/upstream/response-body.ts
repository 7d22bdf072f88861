import { FREE_BYTES, type MemoryAccount } from '../../util/memory-budget.ts';

/** What pauses and resumes a response. */
type Flow = { pause(): void; resume(): void };

/** A body while it arrives. */
export type ResponseBody = {
  /** Adds bytes. If there is no memory for them, it pauses the response until there is. */
  add(chunk: Buffer, flow: Flow): void;
  /** Calls the function with the whole body, once there is memory for it. */
  end(done: (body: Buffer) => void): void;
  /** Whether it waits for memory. */
  isWaiting(): boolean;
  /** Waits no longer for memory, and gives back what it has of a body that is not whole. */
  cancel(): void;
};

/** What a body of unknown length takes at a time, in bytes. */
const STEPS = [2 ** 20, 2 ** 23];

const EMPTY = Buffer.alloc(0);

/**
 * Creates an empty body. Its bytes are copied into one buffer that grows, so that the memory follows the bytes: each chunk
 * would keep 100 bytes more, however small it is.
 * @param expected The length of the body; NaN if it is not known, or if a part of it may suffice. The buffer is then doubled.
 * @param memory Takes what the buffer needs.
 * @param onBytes Called with all bytes so far, after some were added.
 */
export function createResponseBody(
  expected: number,
  memory: Pick<MemoryAccount, 'take' | 'giveBack'>,
  onBytes: (bytes: Buffer) => void,
): ResponseBody {
  let buffer: Buffer = EMPTY;
  let size = 0;
  let taken = 0; // of the memory
  let isFinished = false;
  let arrived: Buffer[] = []; // while it waits
  let onEnd: ((body: Buffer) => void) | undefined;
  let stopWaiting: (() => void) | undefined;

  const append = (chunk: Buffer, capacity: number) => {
    if (size === 0 && capacity === chunk.length) buffer = chunk;
    else if (capacity > buffer.length) {
      const larger = Buffer.allocUnsafeSlow(capacity);
      buffer.copy(larger, 0, 0, size);
      buffer = larger;
    }
    if (buffer !== chunk) chunk.copy(buffer, size);
    size += chunk.length;
    onBytes(buffer.subarray(0, size));
  };
  const finish = () => {
    isFinished = true;
    if (taken > size) memory.giveBack(taken - size);
    taken = Math.min(taken, size);
    onEnd?.(buffer.subarray(0, size));
  };
  const add = (chunk: Buffer, flow: Flow) => {
    const capacity = toCapacity(size + chunk.length, size, expected, buffer.length);
    const missing = toStep(capacity, expected) - taken;
    const goOn = () => {
      stopWaiting = undefined;
      append(chunk, capacity);
    };
    if (missing <= 0) return goOn();
    taken += missing;
    stopWaiting = memory.take(missing, () => {
      goOn();
      const rest = Buffer.concat(arrived);
      arrived = [];
      if (rest.length > 0) add(rest, flow);
      if (stopWaiting !== undefined) return;
      // Later, because undici may be reading another response, which has just given back memory.
      queueMicrotask(() => flow.resume());
      if (onEnd !== undefined) finish();
    });
    if (stopWaiting === undefined) goOn();
    else flow.pause();
  };
  return {
    add: (chunk, flow) => {
      // If the connection was closed meanwhile, undici still delivers what it has read of it.
      if (stopWaiting === undefined) add(chunk, flow);
      else arrived.push(chunk);
    },
    end: (done) => {
      onEnd = done;
      if (stopWaiting === undefined) finish();
    },
    isWaiting: () => stopWaiting !== undefined,
    cancel: () => {
      stopWaiting?.();
      if (!isFinished) memory.giveBack(taken);
      isFinished = true;
    },
  };
}

/** The memory to take for a buffer. Large steps, so that few bodies of unknown length begin at once: each may be as large. */
function toStep(capacity: number, expected: number): number {
  if (capacity <= FREE_BYTES || capacity === expected) return capacity;
  return STEPS.find((step) => step >= capacity) ?? capacity;
}

/** The size of a buffer for `size` bytes: the first chunk itself, then the whole body if its length is known. */
function toCapacity(size: number, before: number, expected: number, capacity: number): number {
  if (size <= capacity || before === 0) return Math.max(size, capacity);
  return expected >= size ? expected : Math.max(size, 2 * capacity);
}
