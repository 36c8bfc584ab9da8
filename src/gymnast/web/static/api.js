// Talks to the server: the token, requests, errors in words, WebSockets, the password.

const KEY = "gymnast-token";

/** An answer that is not what was asked for; `status` is that of HTTP, 0 if there was no answer. */
export class ApiError extends Error {
  constructor(message, status) {
    super(message);
    this.status = status;
  }
}

/** Takes the token from `#token=…` and removes it from the address bar; later calls find it again. */
export function readToken() {
  const fragment = new URLSearchParams(location.hash.slice(1));
  const given = fragment.get("token");
  if (given) {
    sessionStorage.setItem(KEY, given);
    fragment.delete("token");
    const rest = fragment.toString();
    history.replaceState(history.state, "", location.pathname + location.search + (rest ? `#${rest}` : ""));
  }
  return sessionStorage.getItem(KEY);
}

let token = typeof location === "undefined" ? null : readToken();

async function send(path, { method = "GET", body, signal } = {}) {
  const headers = { Authorization: `Bearer ${token ?? ""}` };
  if (body !== undefined) headers["Content-Type"] = "application/json";
  try {
    return await fetch(path, { method, headers, signal, body: body === undefined ? undefined : JSON.stringify(body) });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new ApiError("the server does not answer; is gymnast still running in the terminal?", 0);
  }
}

async function request(path, options = {}) {
  let answer = await send(path, options);
  if (answer.status === 401 && (await logIn())) answer = await send(path, options);
  if (answer.ok) return answer;
  let message = `the server answered ${answer.status}`;
  try {
    message = (await answer.json()).error ?? message;
  } catch {
    // not JSON: the status says what there is to say
  }
  throw new ApiError(message, answer.status);
}

export const getJson = async (path, options) => (await request(path, options)).json();
export const getText = async (path, options) => (await request(path, options)).text();
export const getBinary = async (path, options) => (await request(path, options)).arrayBuffer();
export const getBlob = async (path, options) => (await request(path, options)).blob();
export const post = async (path, body = {}, options = {}) =>
  (await request(path, { ...options, method: "POST", body })).json();
export const postBinary = async (path, body = {}, options = {}) =>
  (await request(path, { ...options, method: "POST", body })).arrayBuffer();
/** The body as it comes, a ReadableStream: EventSource could not send the token. */
export const postStream = async (path, body = {}, options = {}) =>
  (await request(path, { ...options, method: "POST", body })).body;
export const remove = async (path) => (await request(path, { method: "DELETE" })).json();

/** `/api/…` with parts that may contain anything, and a query without its empty values. */
export function address(parts, query = {}) {
  const path = ["/api", ...parts.map((part) => encodeURIComponent(part))].join("/");
  const wanted = Object.entries(query).filter(([, value]) => value !== undefined && value !== null && value !== "");
  const text = new URLSearchParams(wanted).toString();
  return text ? `${path}?${text}` : path;
}

/** Saves an answer as a file of the user's. */
export async function download(path, name) {
  const url = URL.createObjectURL(await getBlob(path));
  const link = document.createElement("a");
  link.href = url;
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
}

/**
 * A WebSocket that has sent its token. `onMessage` gets parsed JSON, or an ArrayBuffer; `onState` "open",
 * "closed" or "refused". It connects again by itself unless `again` is false. Returns {send, close}.
 */
export function openSocket(path, { onMessage, onState = () => {}, onOpen = () => {}, again = true } = {}) {
  let socket = null;
  let ended = false;
  let wait = 500;
  const connect = () => {
    socket = new WebSocket(`${location.protocol === "https:" ? "wss" : "ws"}://${location.host}${path}`);
    socket.binaryType = "arraybuffer";
    socket.onopen = () => {
      socket.send(JSON.stringify({ token: token ?? "" }));
      wait = 500;
      onState("open");
      onOpen(handle);
    };
    socket.onmessage = ({ data }) => onMessage(typeof data === "string" ? JSON.parse(data) : data);
    socket.onclose = ({ code, reason }) => {
      if (ended) return;
      const refused = code >= 4400 && code < 4500;
      onState(refused ? "refused" : "closed", reason);
      if (!refused && again) setTimeout(() => !ended && connect(), (wait = Math.min(2 * wait, 8000)));
    };
  };
  const handle = {
    send: (value) => {
      if (socket?.readyState !== WebSocket.OPEN) return false;
      socket.send(JSON.stringify(value));
      return true;
    },
    close: () => {
      ended = true;
      socket?.close();
    },
  };
  connect();
  return handle;
}

let asking = null;

/** Asks for the password where the server has one; false: a token is needed, and only the terminal has it. */
async function logIn() {
  asking ??= askForPassword().finally(() => (asking = null));
  return asking;
}

async function askForPassword() {
  const { password } = await (await send("/api/login")).json();
  if (!password) return false;
  const dialog = document.createElement("dialog");
  dialog.className = "login";
  dialog.innerHTML = `<form method="dialog"><label>Password
    <input type="password" autocomplete="current-password" required></label>
    <p role="alert"></p><button>Log in</button></form>`;
  document.body.append(dialog);
  dialog.showModal();
  const field = dialog.querySelector("input");
  return new Promise((resolve) => {
    dialog.addEventListener("cancel", (event) => event.preventDefault());
    dialog.querySelector("form").addEventListener("submit", async (event) => {
      event.preventDefault();
      const answer = await send("/api/login", { method: "POST", body: { password: field.value } });
      const said = await answer.json();
      if (!answer.ok) {
        dialog.querySelector("p").textContent = said.error;
        field.select();
        return;
      }
      token = said.token;
      sessionStorage.setItem(KEY, token);
      dialog.remove();
      resolve(true);
    });
  });
}
