/** Whether the gateway can send a client ID: see `path`. */
export { isPathSegment } from '../upstream/path.ts';
